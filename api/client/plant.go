package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oapi-codegen/nullable"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// A Plant is what the service stores under an id.
type Plant struct {
	ID   int64
	Name string
	Tag  *string // nil: the plant has no tag

	// The service sets these. Create, CreateAll and Put do not send them.
	ETag      ETag
	CreatedAt time.Time
	UpdatedAt time.Time
}

// An ETag is the version of a plant, without the quotes of HTTP. It is never used
// twice for the same id.
type ETag string

// AnyETag matches every version of a plant.
const AnyETag ETag = "*"

// A Condition makes a request depend on the version of the plant.
type Condition struct {
	header string
	etag   ETag
}

// IfMatch lets Put, Patch and Delete change the plant only if it has this
// version. Otherwise the error is [ErrPreconditionFailed].
func IfMatch(etag ETag) Condition { return Condition{"If-Match", etag} }

// IfNoneMatch makes Get return [ErrNotModified] if the plant has this version.
// With [AnyETag] it lets Put only create a plant, and not replace one.
func IfNoneMatch(etag ETag) Condition { return Condition{"If-None-Match", etag} }

// value is the value of the header. Only text that is an entity tag by RFC 9110
// may be sent: a quote would begin a second one.
func (c Condition) value() (string, error) {
	if c.etag == AnyETag {
		return "*", nil
	}
	if strings.ContainsFunc(string(c.etag), func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7F }) {
		return "", fmt.Errorf("%q is not an ETag", string(c.etag))
	}
	return `"` + string(c.etag) + `"`, nil
}

// A Patch says what changes in a plant. The zero Patch changes nothing.
type Patch struct {
	Name      *string // the new name; nil keeps the name
	Tag       *string // the new tag; nil keeps the tag
	RemoveTag bool    // the plant has no tag afterwards; Tag must be nil
}

func (p Patch) encode() ([]byte, error) {
	body := plantapi.PlantPatch{Name: p.Name}
	switch {
	case p.Tag != nil && p.RemoveTag:
		return nil, errors.New("a patch cannot both set and remove the tag")
	case p.Tag != nil:
		body.Tag = nullable.NewNullableWithValue(*p.Tag)
	case p.RemoveTag:
		body.Tag = nullable.NewNullNullable[string]()
	}
	return encode(body, p.Name, p.Tag)
}

func (p Plant) newPlant() plantapi.NewPlant {
	return plantapi.NewPlant{ID: p.ID, Name: p.Name, Tag: p.Tag}
}

// checkText refuses what JSON cannot carry: encoding/json would replace it, and
// the service would store something else than the program has.
func checkText(name, tag *string) error {
	switch {
	case name != nil && !utf8.ValidString(*name):
		return errors.New("the name is not valid UTF-8")
	case tag != nil && !utf8.ValidString(*tag):
		return errors.New("the tag is not valid UTF-8")
	}
	return nil
}

// encode writes the body of a request, with the name and the tag in it. Unlike
// [json.Marshal] it does not escape <, > and &, which would make some bodies six
// times as long, and so larger than the service allows.
func encode(body any, name, tag *string) ([]byte, error) {
	if err := checkText(name, tag); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(body)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// stored makes a Plant of a response.
func stored(p plantapi.StoredPlant) Plant {
	return Plant{ID: p.ID, Name: p.Name, Tag: p.Tag, ETag: ETag(p.ETag), CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt}
}

// same reports whether two plants have the same name and tag.
func (p Plant) same(q Plant) bool {
	return p.Name == q.Name && sameTag(p.Tag, q.Tag)
}

func sameTag(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}
