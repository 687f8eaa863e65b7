package storetest_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// The promise of every method of a store is tested here, not only how long a call takes.
func TestEveryMethodIsTested(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must.NoError(t, err)
	var tests strings.Builder
	for _, file := range files {
		if file != "durations.go" {
			text, err := os.ReadFile(file)
			must.NoError(t, err)
			tests.Write(text)
		}
	}
	for m := range reflect.TypeFor[plant.Store]().Methods() {
		if !strings.Contains(tests.String(), "."+m.Name+"(") {
			t.Errorf("no test in internal/testing/storetest calls %s of plant.Store", m.Name)
		}
	}
}
