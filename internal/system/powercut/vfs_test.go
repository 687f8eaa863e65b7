package powercut

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/plantstore/plantstore/internal/atomicfile"
)

// recorder records what SQLite and the package atomicfile do with the files of a folder.
// SQLite does not tell which directories it syncs, so its files never lose their names.
type recorder struct {
	mu     sync.Mutex
	folder string // empty: nothing is recorded
	record record
	last   int            // number of a file
	names  map[string]int // of the files
	open   map[uintptr]int
}

var recording recorder

// begin begins to record the files of a folder, which must be empty.
func (r *recorder) begin(folder string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.folder, r.record, r.names, r.open = folder, nil, map[string]int{}, map[uintptr]int{}
}

// end ends the recording and returns the record.
func (r *recorder) end() record {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.folder = ""
	return r.record
}

// mark notes what clients have learnt.
func (r *recorder) mark(what string, learn func(*known)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record = append(r.record, event{Kind: "mark", To: what, mark: learn})
}

// number returns the number of a file, and a new one for a new file. One that has a content
// was there before, and its content is synced, unless it is a temporary file.
func (r *recorder) number(path string) int {
	name := filepath.Base(path)
	if r.names[name] == 0 {
		r.last++
		r.names[name] = r.last
		r.record = append(r.record, event{Kind: durably + "create", File: r.last, Name: name})
		if content, err := os.ReadFile(path); err == nil && len(content) > 0 {
			r.record = append(r.record, event{Kind: "write", File: r.last, Data: content})
			if class(name) != "temporary" {
				r.record = append(r.record, event{Kind: durably + "sync", File: r.last})
			}
		}
	}
	return r.names[name]
}

// step records a step of the package atomicfile.
func (r *recorder) step(step, path, to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if path == r.folder {
		r.record = append(r.record, event{Kind: "folder"})
		return
	}
	if filepath.Dir(path) != r.folder {
		return
	}
	e := event{Kind: step, File: r.number(path), Name: filepath.Base(path)}
	if to != "" {
		e.To = filepath.Base(to)
	}
	e.rename(r.names)
	r.record = append(r.record, e)
}

// add records what SQLite does with an open file.
func (r *recorder) add(handle uintptr, e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.File = r.open[handle]; e.File != 0 {
		r.record = append(r.record, e)
	}
}

// opened notes which file SQLite has opened.
func (r *recorder) opened(handle uintptr, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, handle)
	if r.folder != "" && filepath.Dir(path) == r.folder {
		r.open[handle] = r.number(path)
	}
}

// removed records that SQLite has removed a file.
func (r *recorder) removed(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name := filepath.Base(path); filepath.Dir(path) == r.folder && r.names[name] != 0 {
		r.record = append(r.record, event{Kind: durably + "remove", File: r.names[name], Name: name})
		delete(r.names, name)
	}
}

// The functions of the default VFS, and copies of its tables of functions of files, with
// ours in them. SQLite has several such tables: one for each way to lock a file.
var (
	system struct {
		open   typeOfOpen
		remove typeOfRemove
	}
	tables      sync.Mutex
	methods     = map[uintptr]*sqlite3.Tsqlite3_io_methods{} // the original, by the copy
	tableCopies = map[uintptr]uintptr{}                      // the copy, by the original
)

// SQLite calls these by their address, which must stay the same.
var (
	openFunc     = vfsOpen
	removeFunc   = vfsRemove
	writeFunc    = fileWrite
	truncateFunc = fileTruncate
	syncFunc     = fileSync
)

func init() {
	atomicfile.Record = recording.step
	tls := libc.NewTLS()
	vfs := at[sqlite3.Tsqlite3_vfs](sqlite3.Xsqlite3_vfs_find(tls, 0))
	system.open, system.remove = function[typeOfOpen](vfs.FxOpen), function[typeOfRemove](vfs.FxDelete)
	vfs.FxOpen, vfs.FxDelete = address(openFunc), address(removeFunc)
}

type (
	typeOfOpen   = func(tls *libc.TLS, vfs, path, file uintptr, flags int32, out uintptr) int32
	typeOfRemove = func(tls *libc.TLS, vfs, path uintptr, sync int32) int32
)

// at returns a pointer to what is at an address of SQLite.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// function returns the function at an address of SQLite, and address the opposite.
func function[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{address})) }
func address[F any](f F) uintptr        { return *(*uintptr)(unsafe.Pointer(&f)) }

func vfsOpen(tls *libc.TLS, vfs, path, file uintptr, flags int32, out uintptr) int32 {
	result := system.open(tls, vfs, path, file, flags, out)
	table := at[uintptr](file)
	if result != sqlite3.SQLITE_OK || path == 0 || *table == 0 {
		return result
	}
	recording.opened(file, libc.GoString(path))
	tables.Lock()
	defer tables.Unlock()
	if tableCopies[*table] == 0 {
		original := at[sqlite3.Tsqlite3_io_methods](*table)
		place := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(*original)))
		ours := at[sqlite3.Tsqlite3_io_methods](place)
		*ours = *original
		ours.FxWrite, ours.FxTruncate, ours.FxSync = address(writeFunc), address(truncateFunc), address(syncFunc)
		tableCopies[*table], methods[place] = place, original
	}
	*table = tableCopies[*table]
	return result
}

func vfsRemove(tls *libc.TLS, vfs, path uintptr, sync int32) int32 {
	recording.removed(libc.GoString(path))
	return system.remove(tls, vfs, path, sync)
}

// original returns the functions that the default VFS has for a file.
func original(file uintptr) *sqlite3.Tsqlite3_io_methods {
	tables.Lock()
	defer tables.Unlock()
	return methods[*at[uintptr](file)]
}

func fileWrite(tls *libc.TLS, file, data uintptr, size int32, offset int64) int32 {
	recording.add(file, event{Kind: "write", At: offset, Data: slices.Clone(unsafe.Slice(at[byte](data), size))})
	write := function[func(tls *libc.TLS, file, data uintptr, size int32, offset int64) int32](original(file).FxWrite)
	return write(tls, file, data, size, offset)
}

func fileTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	recording.add(file, event{Kind: "truncate", At: size})
	return function[func(tls *libc.TLS, file uintptr, size int64) int32](original(file).FxTruncate)(tls, file, size)
}

func fileSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	result := function[func(tls *libc.TLS, file uintptr, flags int32) int32](original(file).FxSync)(tls, file, flags)
	if result == sqlite3.SQLITE_OK {
		recording.add(file, event{Kind: "sync"})
	}
	return result
}
