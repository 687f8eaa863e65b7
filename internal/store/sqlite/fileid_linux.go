package sqlite

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// fileID is different for two files that exist at the same time.
type fileID struct {
	major, minor uint32 // of the device
	inode        uint64
}

// identify returns the ID and the size of the file at a path.
//
// It asks for nothing else. A kernel since 6.13 gives a file whose times were
// asked for, as os.Stat does, a time of its own with the next write. The fsync of each
// commit then has to write the inode, too: with one client that cost a fifth of the
// creates per second. See "multigrain timestamps" in the documentation of the kernel.
func identify(path string) (fileID, int64, error) {
	var info unix.Statx_t
	err := ignoringEINTR(func() error {
		return unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_SIZE, &info)
	})
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 4.11, or in a container whose filter does not know it
		var info unix.Stat_t
		if err = ignoringEINTR(func() error { return unix.Stat(path, &info) }); err == nil {
			return fileID{unix.Major(uint64(info.Dev)), unix.Minor(uint64(info.Dev)), info.Ino}, info.Size, nil
		}
	}
	if err != nil {
		return fileID{}, 0, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return fileID{info.Dev_major, info.Dev_minor, info.Ino}, int64(info.Size), nil
}

// ignoringEINTR repeats a call that a signal interrupts, as package os does. That happens
// with FUSE and network file systems.
func ignoringEINTR(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func (f fileID) same(other fileID) bool { return f == other }
