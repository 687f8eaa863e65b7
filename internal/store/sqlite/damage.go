package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/atomicfile"
)

// damagedSuffix is the suffix of a file beside the store that says why no program may
// open it any more.
const damagedSuffix = "-damaged"

// recordDamage keeps the next start from using a damaged store, and returns what to do. A
// full check there could miss it: a database from a backup and a log that does not
// belong to it can be a valid file.
func (files *openFiles) recordDamage(found *fault) (next string) {
	next = "stop the service, move " + files.target + "* to another directory, and restore a backup (plantstore restore)"
	text := fmt.Sprintf("%s %s at %s while it was open", found.path, found.what, time.Now().UTC().Format(time.RFC3339))
	if err := atomicfile.Write(files.target+damagedSuffix, []byte(text+"\n"), 0o600); err != nil {
		next += fmt.Sprintf("; the next start may not notice the damage (%v)", err)
	}
	return next
}

// checkDamage returns an error if the store at path was found to be damaged.
func checkDamage(path string) error {
	path = resolve(path)
	text, err := os.ReadFile(path + damagedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return errors.New("permission denied: run the command as the user that the store belongs to")
	}
	if err != nil {
		return fmt.Errorf("the store may be damaged, and why cannot be read: %w", err)
	}
	return fmt.Errorf("%s; move %s* to another directory, and restore a backup (plantstore restore)",
		strings.TrimSpace(string(text)), path)
}

// note records that a statement has reported damage.
func (files *openFiles) note(err error) {
	if isDamage(err) && files.suspected.CompareAndSwap(false, true) {
		files.mu.Lock()
		defer files.mu.Unlock()
		files.log.Warn("a statement has failed because the disk cannot be read or the file is damaged", "err", err)
	}
}

func isDamage(err error) bool {
	return slices.Contains(damageCodes, sqlite.ErrCode(err).ToPrimary()) || errors.Is(err, errDamaged)
}

// damageCodes are the results with which SQLite reports a damaged file.
var damageCodes = []sqlite.ResultCode{sqlite.ResultCorrupt, sqlite.ResultNotADB}

// settle decides what a statement has reported: SQLite has the same error for a disk that
// cannot be read for a moment and for a damaged file. The file is damaged if two checks in a
// row find damage, and all of it can be read after each. Then every call fails for ever. If
// that is not so, the next report begins again.
func (s *Store) settle(ctx context.Context) {
	files := &s.files
	if !files.suspected.Load() || files.err() != nil {
		return
	}
	defer files.suspected.Store(false)
	var damage error
	for range 2 {
		damage = s.readMany(ctx, checkIntegrity)
		if !isDamage(damage) || !files.readable() {
			return
		}
	}
	files.mu.Lock()
	defer files.mu.Unlock()
	what := strings.Join(strings.Fields(damage.Error()), " ")
	files.record(&fault{path: files.target, what: fmt.Sprintf("was found damaged (%s)", what), damaged: true})
}

// readable reports whether the files can be read to the end. It is false on Windows, where they are
// not open here: damage is reported there, but not proved.
func (files *openFiles) readable() bool {
	for _, file := range files.opened {
		if _, err := io.Copy(io.Discard, io.NewSectionReader(file, 0, math.MaxInt64)); err != nil {
			return false
		}
	}
	return len(files.opened) > 0
}
