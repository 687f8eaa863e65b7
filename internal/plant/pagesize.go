package plant

import (
	"errors"
	"strconv"
)

// MaxPage is how many bytes of JSON a page has at most, so that no page needs memory or time
// of its own. A page ends there or at its limit, whichever comes first.
const MaxPage = 256 << 10

// PageFrame is at least the JSON of a page beside its items: brackets, and the position of
// changes.
const PageFrame = 128

// ErrPageEnd means that a page has ended before a row.
var ErrPageEnd = errors.New("the page has ended")

// Rows collects the items of a page from the rows that a store reads.
type Rows[T any] struct {
	Limit int         // maximum number of items
	Size  func(T) int // of an item as JSON, with the comma after it

	Items []T
	More  bool // rows follow that are not on the page
	bytes int
}

// Add adds a row, or returns [ErrPageEnd]. A page has at least one row.
func (r *Rows[T]) Add(item T) error {
	r.bytes += r.Size(item)
	tooLarge := r.bytes > MaxPage-PageFrame && len(r.Items) > 0
	if len(r.Items) == r.Limit || tooLarge {
		r.More = true
		return ErrPageEnd
	}
	r.Items = append(r.Items, item)
	return nil
}

// JSONSize is the number of bytes of p in a page of plants: the members in the form of the
// document, and a comma.
func (p Plant) JSONSize() int {
	var digits [20]byte
	const members = len(`{"id":,"name":,"etag":"","created_at":"2006-01-02T15:04:05.000000Z","updated_at":"2006-01-02T15:04:05.000000Z"},`)
	size := members + len(strconv.AppendInt(digits[:0], p.ID, 10)) + JSONSize(p.Name) + len(p.ETag)
	if p.Tag != nil {
		size += len(`,"tag":`) + JSONSize(*p.Tag)
	}
	return size + changedBySize(p.ChangedBy)
}

// changedBySize is the number of bytes of a member changed_by, with a comma.
func changedBySize(name string) int {
	if name == "" {
		return 0
	}
	return len(`,"changed_by":`) + JSONSize(name)
}

// JSONSize is the number of bytes of e in a page of a history, as [Plant.JSONSize] counts them.
func (e HistoryEntry) JSONSize() int {
	const members = len(`{"change":"","changed_at":"2006-01-02T15:04:05.000000Z","plant":`)
	return members + len(e.Change) + changedBySize(e.By) + e.Plant.JSONSize() + len(`}`)
}

// JSONSize is the number of bytes of c in a page of changes, as [Plant.JSONSize] counts them.
func (c Change) JSONSize() int {
	var digits [20]byte
	const members = len(`{"position":"","id":},`) + 48 // characters of a position
	size := members + len(strconv.AppendInt(digits[:0], c.ID, 10))
	if c.Plant != nil {
		size += len(`"plant":`) + c.Plant.JSONSize()
	}
	return size + changedBySize(c.ChangedBy)
}

// TagSize is the number of bytes of a tag in a page of tags, with a comma.
func TagSize(tag string) int { return JSONSize(tag) + len(`,`) }

// JSONSize is the number of bytes of a text as a string of JSON, which escapes quotation
// marks, backslashes and control characters.
func JSONSize(text string) int {
	size := len(text) + len(`""`)
	for i := range len(text) {
		switch c := text[i]; {
		case c >= ' ' && c != '"' && c != '\\':
		case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			size += len(`\n`) - 1
		default:
			size += len(`\u0000`) - 1
		}
	}
	return size
}
