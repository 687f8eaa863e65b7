package atomicfile

import "golang.org/x/sys/unix"

// renameNew renames a file to a name that no file has, or returns [fs.ErrExist]. A crash
// between a link and a removal would leave a file with two names, which the SQLite store
// refuses. Not every file system supports it.
func renameNew(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}
