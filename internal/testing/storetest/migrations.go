package storetest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// Migrations tests that the migrations of a release were not edited: an edit would not change
// the stores that have applied them. It compares the files with their SHA-256 sums. Only the
// newest file may not be part of a release yet.
func Migrations(t *testing.T, files fs.FS, sums map[string]string) {
	t.Helper()
	for _, fault := range migrationFaults(t, files, sums) {
		t.Error(fault)
	}
}

func migrationFaults(t *testing.T, files fs.FS, sums map[string]string) (faults []string) {
	t.Helper()
	names, err := fs.Glob(files, "migrations/*.sql")
	must.NoError(t, err)
	deleted := maps.Clone(sums)
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		must.NoError(t, err)
		sum, name := fmt.Sprintf("%x", sha256.Sum256(text)), path.Base(name)
		delete(deleted, name)
		switch want, released := sums[name]; {
		case name != fmt.Sprintf("%03d.sql", i+1):
			faults = append(faults, fmt.Sprintf("%s is file %d: call it %03d.sql", name, i+1, i+1))
		case released && sum != want:
			faults = append(faults, name+" was edited, which does not change existing stores: add a migration instead")
		case !released && i < len(names)-1:
			faults = append(faults, fmt.Sprintf("%s is part of a release: add its sum, %s, to this test", name, sum))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(deleted)) {
		faults = append(faults, name+" was deleted")
	}
	return faults
}
