//go:build deployment

package plantcontract

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// TestDeployment tries every promise of the document on the service at
// BASE_URL, with the token in PLANTSTORE_TOKEN, which must allow everything. It
// stores plants under random ids and under those at the ends of the range, which
// it removes first: do not run it on a service with data that you need.
func TestDeployment(t *testing.T) {
	url, token := strings.TrimSuffix(os.Getenv("BASE_URL"), "/"), os.Getenv("PLANTSTORE_TOKEN")
	if url == "" || token == "" {
		t.Fatal("BASE_URL and PLANTSTORE_TOKEN are needed")
	}
	target := Target(url, token, "", "")
	o := options()
	o.Seed = rand.Uint64()
	c, err := contracttest.New(api.Document, o)
	must.NoError(t, err)
	tests := 0
	for test := range c.Tests(t.Context()) {
		tests++
		t.Run(test.Name, func(t *testing.T) { test.Run(t, target) })
	}
	t.Logf("%d tests", tests)
	if path := os.Getenv("CONTRACT_REPORT"); path != "" {
		expect.NoError(t, c.Report().WriteFiles(path, os.Stdout))
	}
}
