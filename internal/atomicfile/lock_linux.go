package atomicfile

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file until it is closed. It returns [ErrLocked] if another process has locked it. On NFS and SMB a
// lock of flock is one of the whole file, which would stop SQLite, so lock takes a byte that no file has.
func lock(file *os.File) error {
	err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: math.MaxInt64 - 1, Len: 1})
	if err == unix.EINVAL { // gVisor has no such lock
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == unix.EAGAIN || err == unix.EACCES {
		return ErrLocked
	}
	return err
}
