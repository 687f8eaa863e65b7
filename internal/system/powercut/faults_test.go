package powercut

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// what finds events of one kind, of files of one class, by "kind class". A sync of the log
// after its header is "sync header", and one of a database that has a journal instead of
// a log is "sync journaled".
type what string

// next returns for each event the place of the next one that w finds, or the length of the
// record.
func (w what) next(r record, classes map[int]string) []int {
	all := make([]int, len(r))
	for i, next := len(r)-1, len(r); i >= 0; i-- {
		all[i] = next
		if w.is(r, classes, i) {
			next = i
		}
	}
	return all
}

func (w what) is(r record, classes map[int]string, i int) bool {
	e, of := r[i], ""
	switch {
	case e.mark != nil:
		of = e.To
	case e.File != 0:
		of = classes[e.File]
	}
	switch e.Kind + " " + of {
	case "sync wal":
		for i--; i >= 0 && r[i].File != e.File; i-- {
		}
		if i >= 0 && r[i].Kind == "write" && r[i].At == 0 {
			of = "header"
		}
	case "sync database":
		for i--; i >= 0 && classes[r[i].File] != "journal" && classes[r[i].File] != "wal"; i-- {
		}
		if i >= 0 && classes[r[i].File] == "journal" {
			of = "journaled"
		}
	}
	return e.Kind+" "+of == string(w)
}

// change is a record with a fault, and the places where the fault is.
type change func(record) (changed record, places []int)

// remove leaves out what w finds.
func remove(w what) change {
	return func(r record) (changed record, places []int) {
		classes := r.classes()
		for i, e := range r {
			if w.is(r, classes, i) {
				places = append(places, len(changed))
			} else {
				changed = append(changed, e)
			}
		}
		return changed, places
	}
}

// swap moves what first finds after the next event that then finds, unless first finds
// another event before that one.
func swap(first, then what) change {
	return func(r record) (changed record, places []int) {
		classes := r.classes()
		next, again := then.next(r, classes), first.next(r, classes)
		moved := map[int][]event{} // by the place after which they come
		for i, e := range r {
			if next[i] < again[i] && first.is(r, classes, i) {
				moved[next[i]] = append(moved[next[i]], e)
				places = append(places, len(changed))
			} else {
				changed = append(changed, e)
			}
			changed = append(changed, moved[i]...)
		}
		return changed, places
	}
}

// faults are the ways in which the program could be wrong about what it syncs: each sync
// removed, and each order swapped.
var faults = []struct {
	name   string
	change change
	why    string // no image is wrong
}{
	{"no sync of the log in a commit", remove("sync wal"), ""},
	{"the response before the sync of the log", swap("sync wal", "mark done"), ""},
	{"no sync of the header of the log", remove("sync header"), ""},
	{"no sync of the database in a checkpoint", remove("sync database"), ""},
	{"the log begins again before the database is synced", swap("sync database", "write wal"), ""},
	{"the log is removed before the database is synced", swap("sync database", durably+"remove wal"), ""},
	{
		"a checkpoint syncs the database before the log", swap("sync wal", "sync database"),
		"with synchronous=FULL each commit has synced the log",
	},
	{"no sync of the database in a transaction with a journal", remove("sync journaled"), ""},
	{"no sync of the journal", remove("sync journal"), ""},
	{"the database is written before the journal is synced", swap("sync journal", "write database"), ""},
	{"the journal is removed before the database is synced", swap("sync journaled", durably+"remove journal"), ""},
	{"no sync of a new file", remove("sync temporary"), ""},
	{"a new file gets its name before it is synced", swap("sync temporary", "rename temporary"), ""},
	{"no sync of the folder", remove("folder "), ""},
	{"the folder is synced before a new file gets its name", swap("rename temporary", "folder "), ""},
}

// TestFaults proves that the images show each missing sync and each wrong order: it changes
// the record as the fault would, and wants an image that is wrong. It prints a table.
func TestFaults(t *testing.T) {
	n := must.Number(t, "PLANTSTORE_TEST_POWER_IMAGES", 0)
	if n == 0 {
		t.Skip("needs a minute: .ci/drill power")
	}
	r := recordStore(t)
	results := make([]string, len(faults))
	t.Run("all", func(t *testing.T) {
		for i, f := range faults {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				changed, places := f.change(r)
				if len(places) == 0 {
					t.Fatal("the fault changes nothing")
				}
				limit := n // most faults are found at once
				if f.why != "" {
					limit = n / 10
				}
				images, err := 0, error(nil)
				for seed := uint64(0); images < limit && err == nil; seed++ { // the images of a seed are in the order of time
					var checked int
					checked, err = changed.images(t, 50, seed, near(places, len(changed)))
					images += checked
				}
				switch results[i] = fmt.Sprintf("%s | image %d: %v", f.name, images, err); {
				case err == nil && f.why == "":
					t.Errorf("%d images are right, want a wrong one", images)
				case err != nil && f.why != "":
					t.Errorf("%v, want no wrong image: %s", err, f.why)
				case err == nil:
					results[i] = fmt.Sprintf("%s | nothing, %d images: %s", f.name, images, f.why)
				}
			})
		}
	})
	for _, result := range results {
		line, _, _ := strings.Cut(result, "\n")
		t.Logf("figures: %.330s", line)
	}
}

// near chooses moments shortly after one of the places.
func near(places []int, events int) func(r *rand.Rand) int {
	return func(r *rand.Rand) int { return min(places[r.IntN(len(places))]+r.IntN(1+r.IntN(20)), events-1) }
}
