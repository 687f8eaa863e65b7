package atomicfile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks a file until it is closed. It returns [ErrLocked] if another process has locked
// it. On Windows nobody else can read or write what is locked, so lock takes a byte that no file
// has.
func lock(file *os.File) error {
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	behindEnd := windows.Overlapped{OffsetHigh: math.MaxInt32}
	err := windows.LockFileEx(windows.Handle(file.Fd()), exclusive, 0, 1, 0, &behindEnd)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
