package store

import (
	"context"
	"errors"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

// A Table reads plants in the order of a search, in one snapshot.
type Table interface {
	// Candidates calls found with the plants that the search may select, among the next n in its order, until there
	// are as many as limit or found returns [plant.ErrPageEnd].
	Candidates(ctx context.Context, search plant.Search, n, limit int, found func(plant.Plant) error) error

	// End returns the place of the last one of the next n plants, or nil if there are fewer.
	End(ctx context.Context, search plant.Search, n int) (*plant.Place, error)
}

const (
	// searchWindow is how many plants are examined before a look at the clock. SQLite takes 1 ms for them in the order of
	// names, and 8 to 16 ms if it reads each one at another place of the file.
	searchWindow = 2_000

	// candidateBlock is the same for candidates, which are read and whose names are folded: that takes up to 10 ms if the
	// names are long.
	candidateBlock = 250

	// searchTime is how long a search examines plants, until the window or block that it is in ends. Without it, the plants
	// that a page may examine would have to be as few as the slowest order and disk allow.
	searchTime = 20 * time.Millisecond
)

// Searcher implements the searches of [plant.Store] for both engines.
type Searcher struct {
	// InSnapshot calls examine with a snapshot of the plants, and again if it has lost the first one.
	InSnapshot func(ctx context.Context, search plant.Search, examine func(context.Context, Table) error) error
	Durations  Durations
}

// Search implements [plant.Store].
func (s *Searcher) Search(ctx context.Context, search plant.Search) (found []plant.Plant, next *plant.Place, err error) {
	defer s.Durations.Since(time.Now(), "search")
	err = s.InSnapshot(ctx, search, func(ctx context.Context, table Table) error {
		rows := plant.Rows[plant.Plant]{Limit: search.Limit, Size: plant.Plant.JSONSize}
		next, err = examine(ctx, search, table, rows.Add)
		found = rows.Items
		return err
	})
	return found, next, err
}

// CountSearch implements [plant.Store].
func (s *Searcher) CountSearch(ctx context.Context, search plant.Search) (n int, more bool, err error) {
	defer s.Durations.Since(time.Now(), "count_search")
	err = s.InSnapshot(ctx, search, func(ctx context.Context, table Table) error {
		n = 0
		next, err := examine(ctx, search, table, func(plant.Plant) error {
			if n == search.Limit {
				return plant.ErrPageEnd
			}
			n++
			return nil
		})
		more = next != nil
		return err
	})
	return n, more, err
}

// examine calls selected with the plants that a search selects, until that returns [plant.ErrPageEnd]. It returns the
// place of the last plant that was examined, or nil if that is the last one of all.
func examine(
	ctx context.Context, search plant.Search, table Table, selected func(plant.Plant) error,
) (*plant.Place, error) {
	e := examination{search: search.ByIndex(), table: table, selected: selected, deadline: time.Now().Add(searchTime)}
	e.reached = e.search.After
	for left := search.Examine; left > 0; {
		examined, isLast, err := e.next(ctx, min(left, searchWindow))
		if errors.Is(err, plant.ErrPageEnd) {
			return e.reached, nil
		}
		if err != nil {
			return nil, err
		}
		if isLast {
			untagged, ok := e.search.Untagged()
			if !ok {
				return nil, nil
			}
			e.search = untagged
			continue
		}
		e.search.After = e.reached
		if left -= examined; time.Now().After(e.deadline) {
			break
		}
	}
	return e.reached, nil
}

// An examination of plants that a search may select.
type examination struct {
	search   plant.Search
	table    Table
	selected func(plant.Plant) error
	deadline time.Time

	candidates int
	reached    *plant.Place // of the last plant that was examined
}

// next examines the next plants, at most as many as a window. It returns how many, and whether they are the last ones.
func (e *examination) next(ctx context.Context, window int) (examined int, isLast bool, err error) {
	err = e.table.Candidates(ctx, e.search, window, e.search.Limit+1, func(candidate plant.Plant) error {
		examined++
		return e.examine(candidate)
	})
	if err != nil || examined > e.search.Limit { // there may be more candidates in the window
		return examined, false, err
	}
	end, err := e.table.End(ctx, e.search, window)
	if err != nil || end == nil {
		return window, end == nil, err
	}
	e.reached = end
	return window, false, nil
}

// examine examines a candidate. It returns [plant.ErrPageEnd] if the page ends before it, or the time is over.
func (e *examination) examine(candidate plant.Plant) error {
	if e.search.Parts.In(candidate.Name) {
		if err := e.selected(candidate); err != nil {
			return err
		}
	}
	e.reached = e.search.PlaceOf(candidate)
	e.candidates++
	if e.candidates%candidateBlock == 0 && time.Now().After(e.deadline) {
		return plant.ErrPageEnd
	}
	return nil
}
