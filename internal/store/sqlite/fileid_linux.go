package sqlite

import (
	"os"
	"syscall"

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
	err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_SIZE, &info)
	if err == nil {
		return fileID{info.Dev_major, info.Dev_minor, info.Ino}, int64(info.Size), nil
	}
	// A signal may interrupt the call on a network file system, and a kernel before 4.11, or
	// the filter of a container, may not know it. Package os handles both.
	other, err := os.Stat(path)
	if err != nil {
		return fileID{}, 0, err
	}
	stat := other.Sys().(*syscall.Stat_t)
	return fileID{unix.Major(uint64(stat.Dev)), unix.Minor(uint64(stat.Dev)), stat.Ino}, stat.Size, nil
}

func (f fileID) same(other fileID) bool { return f == other }

// links returns the number of hard links of a file.
func links(info os.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Nlink) } // 32 bits on arm64

// isMounted reports whether a file is a mount point, which Linux says since 5.8.
func isMounted(path string) bool {
	var info unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, 0, 0, &info)
	return err == nil && info.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
