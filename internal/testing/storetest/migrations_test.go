package storetest

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// A release with a made-up second migration must keep the first one as it was.
func TestMigrationFaults(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	for name, c := range map[string]struct {
		files fstest.MapFS
		sums  map[string]string
		want  string // a part of the only fault; "": there is none
	}{
		"before the first release":   {fstest.MapFS{"migrations/001.sql": file("one")}, nil, ""},
		"the first file is released": {fstest.MapFS{"migrations/001.sql": file("one")}, map[string]string{"001.sql": sum("one")}, ""},
		"a second file is added": {
			fstest.MapFS{"migrations/001.sql": file("one"), "migrations/002.sql": file("two")}, map[string]string{"001.sql": sum("one")}, "",
		},
		"the first file has no sum": {
			fstest.MapFS{"migrations/001.sql": file("one"), "migrations/002.sql": file("two")}, nil, "001.sql is part of a release: add its sum, " + sum("one"),
		},
		"a released file is edited":  {fstest.MapFS{"migrations/001.sql": file("one ")}, map[string]string{"001.sql": sum("one")}, "001.sql was edited"},
		"a released file is deleted": {fstest.MapFS{"migrations/001.sql": file("one")}, map[string]string{"001.sql": sum("one"), "002.sql": sum("two")}, "002.sql was deleted"},
		"a number is left out":       {fstest.MapFS{"migrations/002.sql": file("two")}, nil, "call it 001.sql"},
	} {
		t.Run(name, func(t *testing.T) {
			faults := migrationFaults(t, c.files, c.sums)
			switch {
			case c.want == "" && len(faults) > 0:
				t.Errorf("faults %q, want none", faults)
			case c.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], c.want)):
				t.Errorf("faults %q, want %q", faults, c.want)
			}
		})
	}
}
