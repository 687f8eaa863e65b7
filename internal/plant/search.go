package plant

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Search selects plants by filters and in orders that [Page] does not have. There need not be an index for a
// filter: the store examines the plants in the order.
type Search struct {
	Order      Order
	Descending bool
	After      *Place    // only the plants after this place; nil: all plants
	Parts      Parts     // only plants whose name has all of them
	Tags       *TagRange // only plants with such a tag; nil: all plants
	Limit      int       // maximum number of plants, at least 1
	Examine    int       // how many plants to examine, about; at least 1

	untagged bool // see Untagged
}

// Order is an order of plants. Plants that are equal in it are ordered by their IDs.
type Order int

// The orders of a search.
const (
	OrderID     Order = iota
	OrderName         // of their keys; see [NameKey]
	OrderTag          // the plants without a tag come last, also in descending order
	OrderUpdate       // of UpdatedAt
)

// Place is a place in an order: that of a plant, which need not exist.
type Place struct {
	Key       string // in the order of names the key of the name, in that of tags the tag
	Untagged  bool   // in the order of tags: the plant has no tag
	UpdatedAt int64  // in the order of UpdatedAt: microseconds since 1970
	ID        int64
}

// TagRange is the tags from the first one on that are less than Until.
type TagRange struct{ From, Until string }

// OneTag returns the range that has only this tag.
func OneTag(tag string) *TagRange { return &TagRange{From: tag, Until: next(tag)} }

// TagsBeginningWith returns the range of the tags that begin with a text.
func TagsBeginningWith(prefix string) *TagRange {
	return &TagRange{From: prefix, Until: prefix + lastByte}
}

// ByIndex returns the same search in the order that has an index: the plants with one tag are in the order of IDs
// also in that of tags.
func (s Search) ByIndex() Search {
	isOneTag := s.Tags != nil && s.Tags.Until == next(s.Tags.From)
	if s.Order != OrderID || !isOneTag {
		return s
	}
	s.Order = OrderTag
	if s.After != nil {
		s.After = &Place{Key: s.Tags.From, ID: s.After.ID}
	}
	return s
}

// PlaceOf returns the place of a plant in the order of the search.
func (s Search) PlaceOf(p Plant) *Place {
	place := Place{ID: p.ID}
	switch {
	case s.Order == OrderName:
		place.Key = NameKey(p.Name)
	case s.Order == OrderUpdate:
		place.UpdatedAt = p.UpdatedAt.UnixMicro()
	case s.Order == OrderTag && p.Tag == nil:
		place.Untagged = true
	case s.Order == OrderTag:
		place.Key = *p.Tag
	}
	return &place
}

// First returns the first place that a plant can have. If the ID is nil, only plants that differ from the place in
// more than the ID follow.
func (s Search) First() (place Place, id *int64) {
	after, tags := s.After, s.TagRange()
	if after == nil || s.Order == OrderTag && !after.Untagged && (after.Key < tags.From || after.Key > tags.Until) {
		return s.first(tags) // a client can send the cursor of another list
	}
	last, step := int64(maxID), int64(1)
	if s.Descending {
		last, step = minID, -1
	}
	if after.ID == last {
		return *after, nil
	}
	return *after, new(after.ID + step)
}

// first returns the first place of the whole list.
func (s Search) first(tags TagRange) (place Place, id *int64) {
	switch {
	case !s.Descending && s.Order == OrderTag:
		return Place{Key: tags.From}, new(int64(minID))
	case !s.Descending:
		return Place{UpdatedAt: math.MinInt64}, new(int64(minID))
	case s.Order == OrderTag:
		return Place{Key: tags.Until}, new(int64(maxID))
	default:
		return Place{Key: lastByte, UpdatedAt: math.MaxInt64}, new(int64(maxID))
	}
}

// Untagged returns the search for the plants without a tag, which are the last ones in the order of tags, if the
// search has not come to them. There are none if it selects tags.
func (s Search) Untagged() (untagged Search, ok bool) {
	if s.Order != OrderTag || s.IsUntagged() || s.Tags != nil {
		return s, false
	}
	s.After, s.untagged = nil, true
	return s, true
}

// IsUntagged reports whether only plants without a tag follow, in the order of their IDs.
func (s Search) IsUntagged() bool { return s.untagged || s.After != nil && s.After.Untagged }

// NeedsKeys reports whether the search compares the keys of names.
func (s Search) NeedsKeys() bool { return s.Order == OrderName || len(s.Parts) > 0 }

// TagRange returns the tags that the search selects, all of them if it selects none.
func (s Search) TagRange() TagRange {
	if s.Tags != nil {
		return *s.Tags
	}
	return *TagsBeginningWith("")
}

// Parts are parts of names, as [fold] changes them, the longest first.
type Parts []string

// PartsOf returns the parts of a text, which white space separates.
func PartsOf(text string) Parts {
	parts := strings.FieldsFunc(string(fold(nil, text, math.MaxInt)), unicode.IsSpace)
	slices.SortStableFunc(parts, func(a, b string) int { return len(b) - len(a) })
	return parts
}

// In reports whether a name has all parts, anywhere and in any order.
func (p Parts) In(name string) bool {
	folded := string(fold(nil, name, math.MaxInt))
	return !slices.ContainsFunc(p, func(part string) bool { return !strings.Contains(folded, part) })
}

// KeyParts is how many parts a store looks for in the key of a name before it reads the name.
const KeyParts = 3

// InKeys returns the longest parts, and empty ones if there are fewer. A name whose key lacks one of them does not
// have all parts, unless the key has [WholeKey] bytes or more: it may lack the end of the name.
func (p Parts) InKeys() (longest [KeyParts]string) {
	copy(longest[:], p)
	return longest
}

// WholeKey is how many bytes a key has at least that does not have the whole name.
const WholeKey = keyCharacters
