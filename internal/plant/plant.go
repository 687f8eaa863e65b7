// Package plant says what a plant is and what a store of plants promises.
//
// It knows neither HTTP nor SQL: internal/httpapi translates between [Plant]
// and the wire, the packages under internal/store keep the promises of [Store],
// and internal/store/storetest holds them to it.
package plant

import (
	"encoding/base32"
	"encoding/binary"
	"time"
)

// Plant is a plant as the store keeps it.
type Plant struct {
	// ID identifies the plant. The whole int64 range is in use, negative
	// numbers and zero included.
	ID int64
	// Name is any valid UTF-8 text, the empty one and U+0000 included.
	Name string
	// Tag is any valid UTF-8 text. Nil means that the plant has no tag, which
	// is not the same as an empty one.
	Tag *string

	// What follows is the store's to set; a caller leaves it empty.

	// ETag names this version of the plant; see [ETag].
	ETag string
	// CreatedAt and UpdatedAt are in UTC, to the microsecond.
	CreatedAt, UpdatedAt time.Time
}

// Same reports whether p and q are the same plant to a caller who creates it:
// ID, name and tag are equal.
func (p Plant) Same(q Plant) bool {
	if p.ID != q.ID || p.Name != q.Name || (p.Tag == nil) != (q.Tag == nil) {
		return false
	}
	return p.Tag == nil || *p.Tag == *q.Tag
}

// Size is the number of bytes in the name and the tag.
func (p Plant) Size() int {
	if p.Tag == nil {
		return len(p.Name)
	}
	return len(p.Name) + len(*p.Tag)
}

// Patch is a change of a plant that leaves alone what it does not mention.
type Patch struct {
	Name   *string // nil: keep the name
	SetTag bool    // false: keep the tag
	Tag    *string // with SetTag: the new tag, or nil for none
}

// Apply returns p as the patch would have it.
func (c Patch) Apply(p Plant) Plant {
	if c.Name != nil {
		p.Name = *c.Name
	}
	if c.SetTag {
		p.Tag = c.Tag
	}
	return p
}

// Stamped returns p with what a store knows of it beside what its creator said:
// the random bits of its version and two times in microseconds since 1970.
func (p Plant) Stamped(random, createdAt, updatedAt int64) Plant {
	p.ETag = ETag(updatedAt, random)
	p.CreatedAt = time.UnixMicro(createdAt).UTC()
	p.UpdatedAt = time.UnixMicro(updatedAt).UTC()
	return p
}

// ETag returns the name of a version: an opaque text of 26 letters and digits.
// It is made of the time of the write, in microseconds since 1970, and of 64
// bits that are drawn anew for every write, so it is never used twice for one
// plant, not even after the plant was deleted and created again. Every store
// keeps those two numbers, so every node gives the same name.
func ETag(updatedAt, random int64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(updatedAt))
	binary.BigEndian.PutUint64(b[8:], uint64(random))
	return etagEncoding.EncodeToString(b[:])
}

var etagEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)
