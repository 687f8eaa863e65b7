package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

const (
	// copyPage is the number of plants that are read and written at once.
	copyPage = 2000

	// CopyPasses is how often a copy reads each plant: in the source, then in the target.
	CopyPasses = 2
)

// ErrChanged means that the source of a copy has changed while it was copied.
var ErrChanged = errors.New("the source has changed while it was copied")

// Copied describes what a copy has read.
type Copied struct {
	Plants, Tokens int
	Checksum       string // SHA-256 of all plants, tokens and the history, in hexadecimal
}

// Copy fills an empty target with a snapshot of the source, reads the target again, and
// publishes it if both are equal. If the source has changed in the meantime, it returns
// [ErrChanged] instead. Copy calls progress from time to time with what it does and the
// number of plants that are read and to be read.
//
// Of a source without a feed of changes, Copy only notices changes of the tokens and of
// the number of plants.
func Copy(
	ctx context.Context, from store.Source, to store.Target, progress func(phase string, done, total int64),
) (Copied, error) {
	c := copying{from: from, to: to, phase: "copying", progress: progress}
	copied, err := c.fill(ctx)
	if err != nil {
		return Copied{}, err
	}
	if err := c.check(ctx, copied); err != nil {
		return Copied{}, err
	}
	if err := to.Publish(ctx); err != nil {
		return Copied{}, fmt.Errorf("complete the target: %w", err)
	}
	return copied, nil
}

// copying is a copy in progress.
type copying struct {
	from        store.Source
	to          store.Target
	began       sourceState
	phase       string // what progress shows
	progress    func(phase string, done, total int64)
	done, total int64
}

// fill adds a snapshot of the source to the target.
func (c *copying) fill(ctx context.Context) (copied Copied, err error) {
	err = c.from.Snapshot(ctx, func(source store.Snapshot) (err error) {
		if c.began, err = readState(ctx, source); err != nil {
			return err
		}
		c.total = CopyPasses * c.began.Plants.Plants
		copied, err = c.readAll(ctx, "source", source, c.to.AddPlants, c.to.AddHistory)
		if err != nil {
			return err
		}
		if err := c.to.AddTokens(ctx, c.began.Tokens); err != nil {
			return fmt.Errorf("write the target: %w", err)
		}
		return nil
	})
	return copied, err
}

// check returns an error unless the target has what was copied, and the source has not
// changed.
func (c *copying) check(ctx context.Context, copied Copied) error {
	c.phase = "checking"
	stored, err := c.readAll(ctx, "target", c.to,
		func(context.Context, []plant.Plant) error { return nil }, func(context.Context, []plant.HistoryEntry) error { return nil })
	if err != nil {
		return err
	}
	if stored != copied {
		return errors.New("check the target: it differs from what was written to it")
	}
	return c.from.Snapshot(ctx, func(source store.Snapshot) error {
		now, err := readState(ctx, source)
		if err != nil {
			return err
		}
		if !bytes.Equal(encode(now), encode(c.began)) {
			return ErrChanged
		}
		return nil
	})
}

// sourceState is what tells whether a source has changed.
type sourceState struct {
	Plants store.State
	Tokens []token.Token
}

func readState(ctx context.Context, source store.Snapshot) (state sourceState, err error) {
	state.Plants, err = source.State(ctx)
	if err != nil {
		return state, fmt.Errorf("read the source: %w", err)
	}
	state.Tokens, err = source.Tokens(ctx)
	if err != nil {
		return state, fmt.Errorf("read the source: %w", err)
	}
	return state, nil
}

// readAll reads all plants in the order of their IDs, and the history, calls a function with each page of
// them, and reads the tokens. The checksum is that of their JSON, which has every field of them: a
// field that a store forgets fails the check.
func (c *copying) readAll(
	ctx context.Context, name string, s store.Snapshot,
	addPlants func(context.Context, []plant.Plant) error, addHistory func(context.Context, []plant.HistoryEntry) error,
) (found Copied, err error) {
	checksum := sha256.New()
	page := plant.Page{Limit: copyPage}
	for more := true; more; {
		var plants []plant.Plant
		if plants, more, err = s.List(ctx, page); err != nil {
			return found, fmt.Errorf("read the %s: %w", name, err)
		}
		for i := range plants {
			checksum.Write(encode(&plants[i]))
			page.After = &plants[i].ID
		}
		if err := addPlants(ctx, plants); err != nil {
			return found, fmt.Errorf("write the target: %w", err)
		}
		found.Plants += len(plants)
		c.done += int64(len(plants))
		c.progress(c.phase, c.done, max(c.done, c.total))
	}
	for after, more := int64(math.MinInt64), true; more; {
		var entries []plant.HistoryEntry
		if entries, more, err = s.History(ctx, after, copyPage); err != nil {
			return found, fmt.Errorf("read the history of the %s: %w", name, err)
		}
		for i := range entries {
			checksum.Write(encode(&entries[i]))
			after = entries[i].Number
		}
		if err := addHistory(ctx, entries); err != nil {
			return found, fmt.Errorf("write the target: %w", err)
		}
	}
	tokens, err := s.Tokens(ctx)
	if err != nil {
		return found, fmt.Errorf("read the %s: %w", name, err)
	}
	checksum.Write(encode(tokens))
	found.Tokens, found.Checksum = len(tokens), hex.EncodeToString(checksum.Sum(nil))
	return found, nil
}

// encode returns plants, entries, tokens or a state as JSON.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // they have neither functions nor cycles, and times within four digits
	}
	return text
}
