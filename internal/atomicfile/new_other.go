//go:build !linux

package atomicfile

import "errors"

// renameNew is for Linux alone.
func renameNew(_, _ string) error { return errors.ErrUnsupported }
