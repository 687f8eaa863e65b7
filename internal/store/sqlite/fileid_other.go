//go:build !linux

package sqlite

import "os"

// fileID is different for two files that exist at the same time.
type fileID struct{ info os.FileInfo }

// identify returns the ID of the file at a path.
func identify(path string) (fileID, error) {
	info, err := os.Stat(path)
	return fileID{info}, err
}

func (f fileID) same(other fileID) bool { return os.SameFile(f.info, other.info) }
