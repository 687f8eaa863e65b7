// Package powercut tests what a power cut leaves of the files of the program.
//
// It records what the program does with its files ([record]), and builds from the record the
// files that a power cut at some moment may leave ([disk]). It opens each of these images
// with the code of the program, and compares it with what clients knew at that moment.
//
// SQLite is recorded by a VFS that replaces the default one (vfs_test.go). So this is a
// test binary of its own. The package atomicfile tells its steps. Neither sees names that
// SQLite creates or removes, or the sync of their folder. A recorded file system does, on a
// machine that has FUSE: there the unmodified program is tested (program_linux_test.go).
package powercut

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// event is something that the program has done with a file, or that clients have learnt.
type event struct {
	Kind     string // write, truncate, sync, create, link, rename, remove, folder: a sync of it; mark; or see durably
	File     int    // a number that stays the same when the name changes
	Name, To string // of the file, for the kinds that change the folder
	At       int64  // where a write begins, or the new size
	Data     []byte // that is written
	mark     func(*known)
}

// class groups the names of files by what they are for. It is the same for a name of
// a sync in every record.
func class(name string) string {
	for _, suffix := range []string{"-wal", "-journal"} {
		if strings.HasSuffix(name, suffix) {
			return suffix[1:]
		}
	}
	if strings.HasPrefix(name, ".") {
		return "temporary"
	}
	return "database"
}

// record is what has happened, in order. A sync comes when it has returned, everything else
// when it begins.
type record []event

// file is what a disk has of a file, and what was written since it was synced last.
type file struct {
	synced  []byte
	pending []event
}

// disk is what the files would be after a power cut.
type disk struct {
	files   map[int]*file
	names   map[string]int // of the synced folder
	pending []event        // changes of the folder since it was synced last
}

func newDisk() *disk { return &disk{files: map[int]*file{}, names: map[string]int{}} }

// do applies an event.
func (d *disk) do(e event) {
	f := d.files[e.File]
	if f == nil {
		f = new(file)
		d.files[e.File] = f
	}
	switch e.Kind {
	case "write", "truncate":
		f.pending = append(f.pending, e)
	case "sync", durably + "sync":
		for _, w := range f.pending {
			f.synced = w.on(f.synced)
		}
		f.pending = nil
	case "create", "link", "rename", "remove":
		d.pending = append(d.pending, e)
	case "folder":
		for _, e := range d.pending {
			e.rename(d.names)
		}
		d.pending = nil
	case durably + "create", durably + "remove":
		e.Kind = strings.TrimPrefix(e.Kind, durably)
		e.rename(d.names)
	}
}

// durably begins the kind of an event that no power cut undoes: the record does not
// say when it was synced.
const durably = "durably "

// on returns the content of a file after a write.
func (e event) on(content []byte) []byte {
	end := e.At + int64(len(e.Data))
	if grow := end - int64(len(content)); grow > 0 {
		content = append(content, make([]byte, grow)...)
	}
	if e.Kind == "truncate" {
		return content[:end]
	}
	copy(content[e.At:], e.Data)
	return content
}

// rename applies a change of the folder.
func (e event) rename(names map[string]int) {
	switch e.Kind {
	case "create":
		names[e.Name] = e.File
	case "link", "rename":
		names[e.To] = e.File
	}
	if e.Kind == "rename" || e.Kind == "remove" {
		delete(names, e.Name)
	}
}

// sector is what a disk writes whole.
const sector = 512

// cut is what becomes of the events that were not synced: which of them a power cut
// leaves, and which sectors of a write.
type cut struct {
	name string
	keep func(r *rand.Rand, i, n int) bool // the event i of n
	torn bool
}

var cuts = []cut{
	{"nothing that was not synced", func(*rand.Rand, int, int) bool { return false }, false},
	{"some", func(r *rand.Rand, _, _ int) bool { return r.IntN(2) == 0 }, false},
	{"some, torn", func(r *rand.Rand, _, _ int) bool { return r.IntN(4) > 0 }, true},
	{"the last alone", func(_ *rand.Rand, i, n int) bool { return i == n-1 }, false},
	{"all but the first", func(_ *rand.Rand, i, _ int) bool { return i > 0 }, false},
	{"everything", func(*rand.Rand, int, int) bool { return true }, false},
}

// image writes the files that a power cut leaves to a folder.
func (d *disk) image(folder string, c cut, r *rand.Rand) error {
	names := maps.Clone(d.names)
	for i, e := range d.pending {
		if c.keep(r, i, len(d.pending)) {
			e.rename(names)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := d.files[names[name]]
		content := f.synced
		if len(f.pending) > 0 {
			content = slices.Clone(content)
		}
		for i, e := range f.pending {
			if !c.keep(r, i, len(f.pending)) {
				continue
			}
			if !c.torn || e.Kind != "write" {
				content = e.on(content)
				continue
			}
			for at := 0; at < len(e.Data); {
				size := min(sector-int(e.At+int64(at))%sector, len(e.Data)-at)
				if r.IntN(2) == 0 {
					content = event{At: e.At + int64(at), Data: e.Data[at : at+size]}.on(content)
				}
				at += size
			}
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// classes returns the classes of the files of a record.
func (r record) classes() map[int]string {
	of := map[int]string{}
	for _, e := range r {
		if e.Name != "" && of[e.File] == "" {
			of[e.File] = class(e.Name)
		}
	}
	return of
}
