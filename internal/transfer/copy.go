package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"iter"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

const (
	// copyPage is the number of plants that are read at once, and about that of a
	// transaction.
	copyPage = 2000

	// CopyPasses is how often a copy reads each plant: in the source, in the target,
	// and in the source again.
	CopyPasses = 3
)

// ErrChanged means that the source of a copy has changed while it was copied.
var ErrChanged = errors.New("the source has changed while it was copied")

// Copied describes a complete copy.
type Copied struct {
	Plants, Tokens int
	Kept           int    // plants that an earlier run had copied
	Checksum       string // SHA-256 of all plants and tokens, in hexadecimal
}

// Copy makes the target equal to a snapshot of the source, checks that, and finishes
// the target. If the source has changed in the meantime, it returns [ErrChanged]
// instead. A target that an earlier run has filled in part keeps what is right.
// Copy calls progress from time to time with what it does and the number of plants
// that are read and to be read.
//
// If the source has a feed of changes, Copy notices a change before the next of its
// phases, each of which reads every plant.
func Copy(
	ctx context.Context, from store.Source, to store.Target, progress func(phase string, done, total int64),
) (Copied, error) {
	c := copying{from: from, to: to, progress: progress, phase: "copying"}
	sum := sha256.New()
	err := from.Snapshot(ctx, func(source store.Snapshot) error {
		n, err := source.Count(ctx)
		if err == nil {
			c.began, err = readState(ctx, source)
		}
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		c.total = CopyPasses * n
		return c.plants(ctx, source, sum)
	})
	if err != nil {
		return c.copied, err
	}
	c.copied.Tokens = len(c.began.Tokens)
	if err := to.ReplaceTokens(ctx, c.began.Tokens); err != nil {
		return c.copied, fmt.Errorf("write the target: %w", err)
	}
	copied := finish(sum, c.began.Tokens)
	if err := c.wantUnchanged(ctx); err != nil {
		return c.copied, err
	}
	c.phase = "checking the target"
	stored, err := c.check(ctx, to)
	if err != nil {
		return c.copied, fmt.Errorf("check the target: %w", err)
	}
	if stored != copied {
		return c.copied, errors.New("check the target: it differs from what was written to it")
	}
	if err := c.wantUnchanged(ctx); err != nil {
		return c.copied, err
	}
	c.phase = "checking the source"
	var now string
	err = from.Snapshot(ctx, func(source store.Snapshot) (err error) {
		now, err = c.check(ctx, source)
		return err
	})
	if err != nil {
		return c.copied, fmt.Errorf("check the source: %w", err)
	}
	if now != copied {
		return c.copied, ErrChanged
	}
	if err := c.wantUnchanged(ctx); err != nil { // during the check
		return c.copied, err
	}
	if err := to.Finish(ctx); err != nil {
		return c.copied, fmt.Errorf("complete the target: %w", err)
	}
	c.copied.Checksum = copied
	return c.copied, nil
}

// copying is a copy in progress.
type copying struct {
	from        store.Source
	to          store.Target
	progress    func(phase string, done, total int64)
	phase       string
	done, total int64
	copied      Copied
	began       state // of the source

	// The next change of the target.
	remove []int64
	add    []plant.Plant
}

// plants makes the plants of the target equal to those of the source, and adds them to
// sum. It reads both in the order of their IDs.
func (c *copying) plants(ctx context.Context, source store.Snapshot, sum hash.Hash) error {
	nextWanted, stop := iter.Pull2(plantsOf(ctx, source))
	defer stop()
	nextPresent, stop := iter.Pull2(plantsOf(ctx, c.to))
	defer stop()
	want, errSource, _ := nextWanted() // nil after the last one
	have, errTarget, _ := nextPresent()
	for errSource == nil && errTarget == nil && (want != nil || have != nil) {
		isWanted := want != nil && (have == nil || want.ID <= have.ID)
		isPresent := have != nil && (want == nil || have.ID <= want.ID)
		isKept := false
		if isWanted {
			text := encode(want)
			sum.Write(text)
			isKept = isPresent && bytes.Equal(text, encode(have))
			c.copied.Plants++
			c.step()
		}
		switch {
		case isKept:
			c.copied.Kept++
		case isWanted:
			c.add = append(c.add, *want)
		}
		if isPresent && !isKept {
			c.remove = append(c.remove, have.ID)
		}
		if isWanted {
			want, errSource, _ = nextWanted()
		}
		if isPresent {
			have, errTarget, _ = nextPresent()
		}
		if len(c.add)+len(c.remove) >= copyPage {
			if err := c.flush(ctx); err != nil {
				return err
			}
		}
	}
	switch {
	case errSource != nil:
		return fmt.Errorf("read the source: %w", errSource)
	case errTarget != nil:
		return fmt.Errorf("read the target: %w", errTarget)
	}
	return c.flush(ctx)
}

// state is what tells whether a store has changed, without its plants.
type state struct {
	Last   int64 // the last change in its feed
	Tokens []token.Token
}

func readState(ctx context.Context, s store.Snapshot) (state, error) {
	last, err := s.LastChange(ctx)
	if err != nil {
		return state{}, err
	}
	tokens, err := s.Tokens(ctx)
	return state{last, tokens}, err
}

// wantUnchanged returns [ErrChanged] if the feed of the source or its tokens have
// changed.
func (c *copying) wantUnchanged(ctx context.Context) error {
	var now state
	err := c.from.Snapshot(ctx, func(source store.Snapshot) (err error) {
		now, err = readState(ctx, source)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("read the source: %w", err)
	case !bytes.Equal(encode(now), encode(c.began)):
		return ErrChanged
	}
	return nil
}

// flush changes the target.
func (c *copying) flush(ctx context.Context) error {
	if len(c.add)+len(c.remove) == 0 {
		return nil
	}
	if err := c.to.Replace(ctx, c.remove, c.add); err != nil {
		return fmt.Errorf("write the target: %w", err)
	}
	c.remove, c.add = nil, nil
	return nil
}

// step counts a plant that was read.
func (c *copying) step() {
	c.done++
	if c.done%1000 == 0 {
		c.progress(c.phase, c.done, max(c.done, c.total))
	}
}

// check returns the checksum of what s holds.
func (c *copying) check(ctx context.Context, s store.Snapshot) (string, error) {
	sum := sha256.New()
	for p, err := range plantsOf(ctx, s) {
		if err != nil {
			return "", err
		}
		sum.Write(encode(p))
		c.step()
	}
	tokens, err := s.Tokens(ctx)
	return finish(sum, tokens), err
}

// finish returns the checksum of plants and tokens. It is the SHA-256 of their JSON,
// which has every field of them: a field that a store forgets fails the check.
func finish(plants hash.Hash, tokens []token.Token) string {
	plants.Write(encode(tokens))
	return hex.EncodeToString(plants.Sum(nil))
}

// plantsOf reads all plants in the order of their IDs.
func plantsOf(ctx context.Context, s store.Snapshot) iter.Seq2[*plant.Plant, error] {
	return func(yield func(*plant.Plant, error) bool) {
		page := plant.Page{Limit: copyPage}
		for more := true; more; {
			var plants []plant.Plant
			var err error
			if plants, more, err = s.List(ctx, page); err != nil {
				yield(nil, err)
				return
			}
			for i := range plants {
				page.After = &plants[i].ID
				if !yield(&plants[i], nil) {
					return
				}
			}
		}
	}
}

// encode returns a plant or tokens as JSON.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // they have neither functions nor cycles, and times within four digits
	}
	return text
}
