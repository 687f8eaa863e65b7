package powercut

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	sqlitestore "github.com/plantstore/plantstore/internal/store/sqlite"
)

// storeName is the name of the store that the tests write to, and copyName of one that
// `plantstore copy` fills with its plants.
const (
	storeName = "plants.db"
	copyName  = "copy.db"
)

// known is what the clients of a store know at a moment, and so what must be there after a
// power cut.
type known struct {
	writers  []progress
	position *plant.Position  // up to which a client has read the changes
	plants   map[int64]string // the names, as this client has them
	files    map[string][]*[]byte
	copied   int // plants of the copy: -1 if it has not begun, 0 if it has begun
}

// progress is how many writes a client has begun, and how many have returned.
type progress struct{ begun, done int }

func newKnown(writers int) *known {
	return &known{
		writers: make([]progress, writers), plants: map[int64]string{}, files: map[string][]*[]byte{}, copied: -1,
	}
}

// write is the write k of a client. It returns what it changes: the names of plants and
// tokens, by "plant " or "token " and their ID, or "" for one that is gone.
type write struct {
	create []plant.Plant // a batch
	put    *plant.Plant
	remove *int64
	token  string // the ID of one that is created
	revoke string // the ID of one that is revoked
}

// writeOf returns the write k of a client. Each client has its own plants and tokens.
func writeOf(client, k int) (w write, changes map[string]string) {
	round := k / 5
	first := int64(client*1_000_000 + round*10)
	changed := plant.Plant{ID: first, Name: fmt.Sprintf("changed by %d of %d", k, client)}
	changes = map[string]string{}
	switch k % 5 {
	case 0:
		for id := first; id < first+3; id++ {
			w.create = append(w.create, plant.Plant{ID: id, Name: fmt.Sprintf("created by %d of %d", k, client)})
			changes[fmt.Sprint("plant ", id)] = w.create[0].Name
		}
	case 1:
		w.put = &changed
		changes[fmt.Sprint("plant ", first)] = changed.Name
	case 2:
		id := first + 1
		w.remove = &id
		changes[fmt.Sprint("plant ", id)] = ""
	case 3:
		w.token = fmt.Sprintf("c%dk%d", client, round)
		changes["token "+w.token] = "in force"
	case 4:
		w.revoke = fmt.Sprintf("c%dk%d", client, round)
		changes["token "+w.revoke] = "revoked"
	}
	return w, changes
}

// after returns what a client has stored after its first n writes.
func after(client, n int) map[string]string {
	all := map[string]string{}
	for k := range n {
		_, changes := writeOf(client, k)
		maps.Copy(all, changes)
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

// check opens the files of an image with the code of the program, and returns an error if a
// client knows better.
func (k *known) check(ctx context.Context, folder string) error {
	for name, allowed := range k.files {
		if err := checkFile(filepath.Join(folder, name), allowed); err != nil {
			return err
		}
	}
	if err := k.checkCopy(ctx, filepath.Join(folder, copyName)); err != nil {
		return fmt.Errorf("the copy: %w", err)
	}
	path := filepath.Join(folder, storeName)
	s, err := sqlitestore.Open(ctx, path)
	if err != nil {
		return fmt.Errorf("the store cannot be opened: %w", err)
	}
	err = errors.Join(k.checkStore(ctx, s), checkIntegrity(path))
	return errors.Join(err, s.Close())
}

// checkFile returns an error unless a file has one of the contents, of which nil stands for no
// file.
func checkFile(path string, allowed []*[]byte) error {
	content, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	for _, one := range allowed {
		if one == nil && missing || one != nil && !missing && bytes.Equal(*one, content) {
			return nil
		}
	}
	if missing {
		return fmt.Errorf("the file %s is gone", filepath.Base(path))
	}
	return fmt.Errorf("the file %s is neither the old one nor the new one: it has %d bytes",
		filepath.Base(path), len(content))
}

func (k *known) checkStore(ctx context.Context, s *sqlitestore.Store) error {
	found := make([]map[string]string, len(k.writers)) // by client
	for i := range found {
		found[i] = map[string]string{}
	}
	names := map[int64]string{}
	page := plant.Page{Limit: 1000}
	for more := true; more; {
		var plants []plant.Plant
		var err error
		if plants, more, err = s.List(ctx, page); err != nil {
			return err
		}
		for _, p := range plants {
			page.After = &p.ID
			names[p.ID] = p.Name
			if client := int(p.ID / 1_000_000); client < len(found) {
				found[client][fmt.Sprint("plant ", p.ID)] = p.Name
			}
		}
	}
	tokens, err := s.Tokens(ctx)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		var client, round int
		if _, err := fmt.Sscanf(t.Name, "c%dk%d", &client, &round); err != nil {
			continue
		}
		found[client]["token "+t.Name] = "in force"
		if !t.RevokedAt.IsZero() {
			found[client]["token "+t.Name] = "revoked"
		}
	}
	for client, p := range k.writers {
		if !maps.Equal(found[client], after(client, p.done)) && !maps.Equal(found[client], after(client, p.begun)) {
			return fmt.Errorf("client %d: the store has neither its first %d nor its first %d writes (-want +have):\n%.500s",
				client, p.done, p.begun, cmp.Diff(after(client, p.done), found[client]))
		}
	}
	return k.checkFeed(ctx, s, names)
}

// checkFeed follows the changes from where a client has stopped, as a client of a new server.
func (k *known) checkFeed(ctx context.Context, s *sqlitestore.Store, want map[int64]string) error {
	if err := s.BeginEpoch(ctx); err != nil {
		return err
	}
	position, have := k.position, maps.Clone(k.plants)
	if err := follow(ctx, s, &position, have); err != nil {
		return fmt.Errorf("the changes after %+v: %w", k.position, err)
	}
	if !maps.Equal(have, want) {
		return errors.New("a client that follows the changes has other plants than the store")
	}
	// A position is not given twice: a later change comes after all that the client has read.
	if err := s.Create(ctx, plant.Plant{ID: 1 << 40, Name: "later"}); err != nil {
		return err
	}
	if err := follow(ctx, s, &position, have); err != nil {
		return err
	}
	if have[1<<40] != "later" {
		return fmt.Errorf("a change after the power cut does not come after %+v", position)
	}
	return nil
}

// follow applies changes until there are no more.
func follow(ctx context.Context, s plant.Feed, position **plant.Position, names map[int64]string) error {
	for {
		changes, next, err := s.Changes(ctx, *position, 1000)
		if err != nil {
			return err
		}
		apply(changes, names)
		*position = &next
		if len(changes) == 0 {
			return nil
		}
	}
}

func apply(changes []plant.Change, names map[int64]string) {
	for _, c := range changes {
		if delete(names, c.ID); c.Plant != nil {
			names[c.ID] = c.Plant.Name
		}
	}
}

// checkCopy returns an error unless the copy is complete, or was not acknowledged and is not
// there.
func (k *known) checkCopy(ctx context.Context, path string) error {
	_, err := os.Stat(path)
	if k.copied <= 0 && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := sqlitestore.Open(ctx, path)
	if err != nil {
		return err
	}
	n, _, err := s.Count(ctx, plant.Page{Limit: 100_000})
	if err == nil && (n == 0 || n < k.copied) {
		err = fmt.Errorf("it has %d plants, want %d", n, k.copied)
	}
	return errors.Join(err, s.Close())
}

// checkIntegrity lets SQLite check a file.
func checkIntegrity(path string) error {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		return err
	}
	defer conn.Close()
	stmt, err := conn.Prepare("PRAGMA integrity_check(1)")
	if err != nil {
		return err
	}
	if text, err := sqlitex.ResultText(stmt); err != nil || text != "ok" {
		return fmt.Errorf("the store is damaged: %s, %w", text, err)
	}
	return nil
}
