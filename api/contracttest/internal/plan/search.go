package plan

import (
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// That a list has something twice, lacks something, or has it in another order is found by one function for
// all tests, search.visit, because a walk through pages may go wrong in each of these ways whatever it is
// for.

// search looks for things in a list.
type search struct {
	*listTest
	limit  int
	wanted []string
	seen   map[string]map[string]any // the items by identity
	met    []string                  // the identities in their order
}

// visit looks at a page, and reports whether all wanted things have been met. If one has not, it must be possible that it
// comes later.
func (s *search) visit(found page) (enough bool) {
	s.add(found)
	for _, id := range s.wanted {
		if s.seen[id] == nil {
			s.Check(s.mayLack(id, found.end))
			return false
		}
	}
	// A list in order is read from the first thing of the test, so that those of the test come first.
	isOrdered := !s.list.InOrder() || slices.Equal(s.met[:len(s.wanted)], s.wanted)
	s.Require(isOrdered, "a walk with %s=%d meets %v, want %v", s.list.Limit, s.limit, s.met, s.wanted)
	return true
}

// add notes the items of a page, which must be within the limit, and on no page before: a walk that has them
// again would never end.
func (s *search) add(found page) {
	isWithin := s.list.Limit == "" || len(found.ids) <= s.limit
	s.Require(isWithin, "a page with %s=%d has %d items", s.list.Limit, s.limit, len(found.ids))
	for i, id := range found.ids {
		if s.seen[id] != nil {
			cause := scenario.Cause{Kind: scenario.ListedTwice, Operation: s.list.Operation}
			s.Check(scenario.BrokenBy(cause, "the pages of the list have %s twice: %v", id, found.ids))
		}
		s.seen[id] = found.items[i]
	}
	s.met = append(s.met, found.ids...)
}

// mayLack returns an error unless something that is missing may come on a later page.
func (s *search) mayLack(missing string, end pageEnd) error {
	isOfSome := s.list.IsInferred && s.list.IsPartial()
	switch {
	case end == unknown:
		return scenario.NotTested("the list has more items than a page, and there is no way to the next one")
	case end == nothing && isOfSome:
		return scenario.NotTested("its description leaves open whether it has everything")
	case end == nothing:
		cause := scenario.Cause{Kind: scenario.ListLacks, Operation: s.list.Operation}
		return scenario.BrokenBy(cause, "the list ends after %d resources, and lacks %v", len(s.seen), missing)
	case len(s.met) > 100*values.Most:
		return scenario.NotTested("the list is longer than a test reads")
	}
	return nil
}
