//go:build !linux

package sqlite

import "os"

// fileID is different for two files that exist at the same time.
type fileID struct{ info os.FileInfo }

// identify returns the ID and the size of the file at a path.
func identify(path string) (fileID, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileID{}, 0, err
	}
	return fileID{info}, info.Size(), nil
}

func (f fileID) same(other fileID) bool { return os.SameFile(f.info, other.info) }

// links returns the number of hard links of a file, which is known on Linux alone.
func links(os.FileInfo) uint64 { return 1 }

// isMounted reports whether a file is a mount point, which is known on Linux alone.
func isMounted(string) bool { return false }
