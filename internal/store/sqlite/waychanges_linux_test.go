package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
)

// How the ways change files.

func move(from, to string) func(*changedFiles) error {
	return func(f *changedFiles) error { return os.Rename(f.path+from, f.path+to) }
}

func remove(suffix string) func(*changedFiles) error {
	return func(f *changedFiles) error { return os.Remove(f.path + suffix) }
}

// cp writes a file into another one, as the command does.
func cp(from, to string) func(*changedFiles) error {
	return func(f *changedFiles) error {
		content, err := os.ReadFile(f.path + from)
		return errors.Join(err, os.WriteFile(f.path+to, content, 0o600))
	}
}

// dd writes the beginning of a file, or all of it, over that of another one, and cuts nothing off.
func dd(from, to string, size int64) func(*changedFiles) error {
	return func(f *changedFiles) error {
		content, err := os.ReadFile(f.path + from)
		if size > 0 {
			content = content[:size]
		}
		return errors.Join(err, f.writeAt(to, content, 0))
	}
}

func zero(suffix string, at, size int64) func(*changedFiles) error {
	return func(f *changedFiles) error { return f.writeAt(suffix, make([]byte, size), at) }
}

func (f *changedFiles) writeAt(suffix string, content []byte, at int64) error {
	file, err := os.OpenFile(f.path+suffix, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, at)
	return errors.Join(err, file.Close())
}

func cut(suffix string, size int64) func(*changedFiles) error {
	return func(f *changedFiles) error { return os.Truncate(f.path+suffix, size) }
}

// shorten makes a file shorter, or longer by zeros.
func shorten(suffix string, by int64) func(*changedFiles) error {
	return func(f *changedFiles) error {
		info, err := os.Stat(f.path + suffix)
		if err != nil {
			return err
		}
		return os.Truncate(f.path+suffix, info.Size()-by)
	}
}

// statements run in another program.
func statements(all ...string) func(*changedFiles) error {
	return func(f *changedFiles) error { return otherProgram(f.path, all...) }
}

// do makes changes one after the other.
func (f *changedFiles) do(changes ...func(*changedFiles) error) (err error) {
	for _, change := range changes {
		err = errors.Join(err, change(f))
	}
	return err
}

func (f *changedFiles) moveAndBack() error { return f.do(move("", ".away"), move(".away", "")) }

func (f *changedFiles) replaceByItself() error { return f.do(cp("", ".same"), move(".same", "")) }

func (f *changedFiles) copyOverItself() error { return f.do(cp("", ".same"), cp(".same", "")) }

func (f *changedFiles) touch() error { return f.do(dd("", "", 1)) }

func (f *changedFiles) link() error { return os.Link(f.path, f.path+".link") }

func (f *changedFiles) replaceLogByItself() error {
	return f.do(cp("-wal", ".same"), move(".same", "-wal"))
}

func (f *changedFiles) copyLogOverItself() error {
	return f.do(cp("-wal", ".same"), cp(".same", "-wal"))
}

func (f *changedFiles) replaceIndexByItself() error {
	return f.do(cp("-shm", ".same"), move(".same", "-shm"))
}

func (f *changedFiles) cutLastByte() error {
	index, err := f.store.files.readIndex()
	return errors.Join(err, f.do(cut("-wal", wal.FrameStart(index.Frames()+1, 4096)-1)))
}

func (f *changedFiles) appendToLog() error {
	info, err := os.Stat(f.path + "-wal")
	if err != nil {
		return err
	}
	return f.writeAt("-wal", bytes.Repeat([]byte("n"), 4120), info.Size())
}

func (f *changedFiles) emptyCopiedLog() error {
	return f.do(statements("PRAGMA wal_checkpoint(PASSIVE)"), cut("-wal", 0))
}

func (f *changedFiles) moveAll() error {
	return f.do(move("", ".away"), move("-wal", ".away-wal"), move("-shm", ".away-shm"))
}

func (f *changedFiles) replaceAll() error {
	return f.do((*changedFiles).moveAll, move(".older", ""))
}

func (f *changedFiles) copyAll() error {
	return f.do(cp(".shorter", ""), cp(".older-wal", "-wal"), cp(".older-shm", "-shm"))
}

func (f *changedFiles) vacuumInto() error {
	return f.do(statements("VACUUM INTO '" + f.path + ".copy'"))
}

// look is that of each second.
func look(f *changedFiles) error { return f.store.files.check() }

func checkpointNow(f *changedFiles) error { return copyTheLog(f.t, f.store) }

func (f *changedFiles) copyOverAfterCheckpoint() error {
	return f.do(checkpointNow, look, cp(".older", ""))
}

func (f *changedFiles) copyOverBesideEmptyLog() error {
	return f.do(statements("PRAGMA wal_checkpoint(TRUNCATE)"), look, cp(".older", ""))
}

func (f *changedFiles) copyOverBesideLogOfOthers() error {
	return f.do(statements("PRAGMA wal_checkpoint(TRUNCATE)", "UPDATE plants SET tag = 'n' WHERE id = -1"), look, cp(".older", ""))
}

// copyIndexOfOneCommitBefore copies it so fast that no look comes between.
func (f *changedFiles) copyIndexOfOneCommitBefore() error {
	create := func(f *changedFiles) error { return f.create() }
	return f.do(cp("-shm", ".before"), create, cp(".before", "-shm"))
}

func (f *changedFiles) copyIndexOfEmptyLog() error {
	create := func(f *changedFiles) error { return f.create() }
	return f.do(statements("PRAGMA wal_checkpoint(TRUNCATE)"), look, cp("-shm", ".empty"), create, look, cp(".empty", "-shm"))
}

func (f *changedFiles) copySet() error {
	return f.do(cp(".set", ""), cp(".set-wal", "-wal"), cp(".set-shm", "-shm"))
}

func (f *changedFiles) moveFolder() error {
	folder := filepath.Dir(f.path)
	return errors.Join(os.Rename(folder, folder+"-away"), os.Mkdir(folder, 0o700))
}

func (f *changedFiles) dotRestore() error {
	dotBackup(f.t, f.path+".backup", f.path)
	return nil
}

func (f *changedFiles) dotBackup() error {
	dotBackup(f.t, f.path, f.path+".copy")
	return nil
}
