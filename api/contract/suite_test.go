//go:build suite

package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// suiteGroup is a schema of the official suite of JSON Schema, with values.
type suiteGroup struct {
	Description string
	Schema      any
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// elsewhere are the files of the suite that ask for something else than this package does: formats are checked, and nothing is
// loaded from other addresses.
var elsewhere = []string{"format.json", "refRemote.json", "vocabulary.json"}

// Of the official suite of draft 2020-12, 1,115 of 1,117 tests are right. The others are 1.0 as an integer, and the metaschema, whose
// $dynamicRef is read as a $ref. PLANTSTORE_TEST_SUITE is the folder tests/draft2020-12 of a clone of
// json-schema-org/JSON-Schema-Test-Suite:
//
//	PLANTSTORE_TEST_SUITE=… go test -tags suite -run TestOfficialSuite ./api/contract
func TestOfficialSuite(t *testing.T) {
	folder := os.Getenv("PLANTSTORE_TEST_SUITE")
	if folder == "" {
		t.Fatal("set PLANTSTORE_TEST_SUITE")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	must.NoError(t, err)
	right, wrong := 0, 0
	for _, file := range files {
		if slices.Contains(elsewhere, filepath.Base(file)) {
			continue
		}
		text, err := os.ReadFile(file)
		must.NoError(t, err)
		var groups []suiteGroup
		must.NoError(t, json.Unmarshal(text, &groups))
		for _, group := range groups {
			if schema, isObject := group.Schema.(map[string]any); isObject && schema["$id"] == nil {
				schema["$id"] = "https://suite.example/schema.json" // to which # refers
			}
			schema, err := json.Marshal(group.Schema)
			must.NoError(t, err)
			checker, err := contract.New([]byte(fmt.Sprintf(modernDocument, schema)), contract.Options{})
			if err != nil && strings.Contains(err.Error(), "is not in the document") {
				continue // it would be loaded from another address
			}
			for _, test := range group.Tests {
				if err == nil && (post(checker, string(test.Data)) == http.StatusOK) == test.Valid {
					right++
					continue
				}
				wrong++
				t.Logf("%s: %s: %s: want %t, %v", filepath.Base(file), group.Description, test.Description, test.Valid, err)
			}
		}
	}
	t.Logf("figures: %d right, %d wrong", right, wrong)
	if share := float64(right) / float64(right+wrong); share < 0.998 {
		t.Errorf("%.1f %% are right, want 99.8", 100*share)
	}
}
