package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"

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
func Copy(ctx context.Context, from store.Source, to store.Target, progress func(phase string, done, total int64)) (Copied, error) {
	c := copying{to: to, progress: progress, phase: "copying"}
	var tokens []token.Token
	var last int64
	err := from.Snapshot(ctx, func(source store.Snapshot) (err error) {
		n, err := source.Count(ctx)
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		c.total = CopyPasses * n
		if last, err = source.LastChange(ctx); err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		if err := c.plants(ctx, source); err != nil {
			return err
		}
		tokens, err = source.Tokens(ctx)
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		return nil
	})
	if err != nil {
		return c.copied, err
	}
	copied := c.sum.finish(tokens)
	c.copied.Tokens = len(tokens)
	if err := to.ReplaceTokens(ctx, tokens); err != nil {
		return c.copied, fmt.Errorf("write the target: %w", err)
	}
	if err := c.wantUnchanged(ctx, from, last, tokens); err != nil {
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
	if err := c.wantUnchanged(ctx, from, last, tokens); err != nil {
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
	if err := c.wantUnchanged(ctx, from, last, tokens); err != nil { // during the check
		return c.copied, err
	}
	c.copied.Checksum = copied
	if err := to.Finish(ctx); err != nil {
		return c.copied, fmt.Errorf("complete the target: %w", err)
	}
	return c.copied, nil
}

// copying is a copy in progress.
type copying struct {
	to          store.Target
	progress    func(phase string, done, total int64)
	phase       string
	done, total int64
	copied      Copied
	sum         checksum // of the source

	// The next change of the target.
	remove []int64
	add    []plant.Plant
}

// plants makes the plants of the target equal to those of the source. It reads both
// in the order of their IDs.
func (c *copying) plants(ctx context.Context, source store.Snapshot) error {
	wanted, present := list{from: source}, list{from: c.to}
	want, err := wanted.next(ctx)
	if err != nil {
		return fmt.Errorf("read the source: %w", err)
	}
	have, err := present.next(ctx)
	if err != nil {
		return fmt.Errorf("read the target: %w", err)
	}
	for want != nil || have != nil {
		isWanted := want != nil && (have == nil || want.ID <= have.ID)
		isPresent := have != nil && (want == nil || have.ID <= want.ID)
		var text []byte
		if isWanted {
			text = c.sum.add(want)
			c.step()
		}
		switch {
		case isWanted && isPresent && bytes.Equal(text, encode(have)):
			c.copied.Kept++
		case isWanted:
			c.add = append(c.add, *want)
			fallthrough
		default:
			if isPresent {
				c.remove = append(c.remove, have.ID)
			}
		}
		if isWanted {
			c.copied.Plants++
			if want, err = wanted.next(ctx); err != nil {
				return fmt.Errorf("read the source: %w", err)
			}
		}
		if isPresent {
			if have, err = present.next(ctx); err != nil {
				return fmt.Errorf("read the target: %w", err)
			}
		}
		if len(c.add)+len(c.remove) >= copyPage {
			if err := c.flush(ctx); err != nil {
				return err
			}
		}
	}
	return c.flush(ctx)
}

// wantUnchanged returns [ErrChanged] if the feed of the source or its tokens have
// changed.
func (c *copying) wantUnchanged(ctx context.Context, from store.Source, last int64, tokens []token.Token) error {
	err := from.Snapshot(ctx, func(source store.Snapshot) error {
		lastNow, err := source.LastChange(ctx)
		if err != nil {
			return err
		}
		tokensNow, err := source.Tokens(ctx)
		if err == nil && (lastNow != last || !bytes.Equal(encode(tokensNow), encode(tokens))) {
			err = ErrChanged
		}
		return err
	})
	if err != nil && !errors.Is(err, ErrChanged) {
		err = fmt.Errorf("read the source: %w", err)
	}
	return err
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
	var sum checksum
	for l := (list{from: s}); ; c.step() {
		p, err := l.next(ctx)
		if err != nil {
			return "", err
		}
		if p == nil {
			break
		}
		sum.add(p)
	}
	tokens, err := s.Tokens(ctx)
	return sum.finish(tokens), err
}

// list reads all plants, page by page.
type list struct {
	from store.Snapshot
	page []plant.Plant // the rest of the last page
	last *int64        // the ID of the last plant of the last page; nil: no page was read
	end  bool          // no page follows
}

// next returns the next plant, or nil after the last one.
func (l *list) next(ctx context.Context) (*plant.Plant, error) {
	if len(l.page) == 0 && !l.end {
		plants, more, err := l.from.List(ctx, plant.Page{After: l.last, Limit: copyPage})
		if err != nil {
			return nil, err
		}
		l.page, l.end = plants, !more
		if len(plants) > 0 {
			l.last = &plants[len(plants)-1].ID
		}
	}
	if len(l.page) == 0 {
		return nil, nil
	}
	p := &l.page[0]
	l.page = l.page[1:]
	return p, nil
}

// checksum is the SHA-256 of plants and tokens as JSON, which has every field of
// them: a field that a store forgets fails the check.
type checksum struct{ sum hash.Hash }

// add adds a plant, and returns its text.
func (c *checksum) add(p *plant.Plant) []byte {
	if c.sum == nil {
		c.sum = sha256.New()
	}
	text := encode(p)
	c.sum.Write(text)
	return text
}

// finish adds the tokens and returns the sum.
func (c *checksum) finish(tokens []token.Token) string {
	if c.sum == nil {
		c.sum = sha256.New()
	}
	c.sum.Write(encode(tokens))
	return fmt.Sprintf("%x", c.sum.Sum(nil))
}

// encode returns a plant or tokens as JSON.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // they have neither functions nor cycles, and times within four digits
	}
	return text
}
