package sqlite

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// beDefensive makes SQLite open every later connection in defensive mode: no statement can write
// to the schema, or to the pages of the file.
//
// SetDefensive of a connection (zombiezen.com/go/sqlite 1.4.2) passes one argument of two. SQLite
// takes what follows in memory for the address of the other, and writes to it.
var beDefensive = sync.OnceValue(func() error {
	entry := makeDefensive
	result := sqlite3.Xsqlite3_auto_extension(libc.NewTLS(), *(*uintptr)(unsafe.Pointer(&entry)))
	return sqlite.ResultCode(result).ToError()
})

// makeDefensive is an entry point of an extension, which SQLite calls with each new connection.
func makeDefensive(tls *libc.TLS, conn, _, _ uintptr) int32 {
	const on, noResult = int32(1), uintptr(0)
	args := libc.NewVaList(on, noResult)
	defer libc.Xfree(tls, args)
	return sqlite3.Xsqlite3_db_config(tls, conn, sqlite3.SQLITE_DBCONFIG_DEFENSIVE, args)
}
