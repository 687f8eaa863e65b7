// Package plant defines what a plant is and what a store of plants must do.
//
// It depends on neither HTTP nor SQL. The package httpapi converts between
// [Plant] and the types of the API. The packages sqlite and postgres implement
// [Store], and storetest tests that they do what its comments say.
package plant

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"time"
)

// Plant is a plant in a store.
type Plant struct {
	// ID identifies the plant. It is any int64, negative numbers and zero
	// included.
	ID int64
	// Name is a valid UTF-8 text of at most [MaxName] characters. It may be empty and may
	// contain U+0000.
	Name string
	// Tag is a text of at most [MaxTag] characters, or nil if the plant has no tag. An
	// empty tag is not the same as no tag.
	Tag *string
	// ChangedBy is the name of who stores this version; empty: not known.
	ChangedBy string

	// The store sets the fields below and ignores their values in a write.

	// ETag identifies this version of the plant; see [ETag].
	ETag string
	// CreatedAt and UpdatedAt are in UTC, to the microsecond.
	CreatedAt, UpdatedAt time.Time
}

// Same reports whether p and q have the same ID, name and tag. Creating a plant
// again is allowed if it is the same.
func (p Plant) Same(q Plant) bool {
	if p.ID != q.ID || p.Name != q.Name || (p.Tag == nil) != (q.Tag == nil) {
		return false
	}
	return p.Tag == nil || *p.Tag == *q.Tag
}

// The largest numbers of characters (Unicode code points) in a name and a tag, as in the
// document.
const (
	MaxName = 1000
	MaxTag  = 256
)

// Patch is a change to some fields of a plant.
type Patch struct {
	Name   *string // the new name; nil keeps the old one
	SetTag bool    // false keeps the old tag
	Tag    *string // the new tag if SetTag is set; nil removes the tag

	ChangedBy string // the name of who stores the change; empty: not known
}

// Apply returns p with the changes of the patch.
func (c Patch) Apply(p Plant) Plant {
	if c.Name != nil {
		p.Name = *c.Name
	}
	if c.SetTag {
		p.Tag = c.Tag
	}
	p.ChangedBy = c.ChangedBy
	return p
}

// ETag returns the entity tag of a version: an opaque string of 26 letters and
// digits. It encodes the time of the write, in microseconds since 1970, and 64
// random bits that are new for every write. So an entity tag is never used twice
// for an ID, even if the plant is deleted and created again. The store keeps both
// numbers, so all nodes return the same entity tag.
func ETag(updatedAt, version int64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(updatedAt))
	binary.BigEndian.PutUint64(b[8:], uint64(version))
	return etagEncoding.EncodeToString(b[:])
}

// Version returns the random bits in the ETag of p. It returns an error unless p has
// an ETag that [ETag] has returned for its UpdatedAt.
func (p Plant) Version() (int64, error) {
	var b [17]byte // one more than an ETag has
	n, err := etagEncoding.Decode(b[:], []byte(p.ETag))
	if err != nil || n != 16 {
		return 0, fmt.Errorf("plant %d has the etag %q, which does not have the form of one", p.ID, p.ETag)
	}
	version := int64(binary.BigEndian.Uint64(b[8:]))
	if ETag(p.UpdatedAt.UnixMicro(), version) != p.ETag {
		return 0, fmt.Errorf("plant %d has the etag %q, which does not fit the time of its last write, %v", p.ID, p.ETag, p.UpdatedAt)
	}
	return version, nil
}

var etagEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)
