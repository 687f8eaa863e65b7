package client

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oapi-codegen/nullable"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// A Plant is what the service stores under an id.
type Plant struct {
	ID   int64   `json:"id"`
	Name string  `json:"name"`
	Tag  *string `json:"tag,omitempty"` // nil: the plant has no tag

	// The service sets these. Create, CreateAll and Put do not send them.
	ETag      ETag      `json:"etag"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
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

// body is the body of a patch.
func (p Patch) body() (body plantapi.PlantPatch, err error) {
	switch {
	case p.Tag != nil && p.RemoveTag:
		return body, errors.New("a patch cannot both set and remove the tag")
	case p.Tag != nil:
		body.Tag = nullable.NewNullableWithValue(*p.Tag)
	case p.RemoveTag:
		body.Tag = nullable.NewNullNullable[string]()
	}
	body.Name = p.Name
	return body, checkTexts(p.Name, p.Tag)
}

// change returns the patch that makes q of p. It is the zero Patch if p and q have
// the same content. It keeps the members that this client does not know.
func (p Plant) change(q Plant) (patch Patch) {
	if q.Name != p.Name {
		patch.Name = &q.Name
	}
	if !reflect.DeepEqual(q.Tag, p.Tag) {
		patch.Tag, patch.RemoveTag = q.Tag, q.Tag == nil
	}
	return patch
}

// clone returns a copy that shares no memory with p.
func (p Plant) clone() Plant {
	if p.Tag != nil {
		p.Tag = new(*p.Tag)
	}
	return p
}

// content is the body of a request that stores p under its id.
func (p Plant) content() (plantapi.Plant, error) {
	return plantapi.Plant{Name: p.Name, Tag: p.Tag}, checkTexts(&p.Name, p.Tag)
}

// newPlant is the body of a request that creates p.
func (p Plant) newPlant() (plantapi.NewPlant, error) {
	return plantapi.NewPlant{ID: p.ID, Name: p.Name, Tag: p.Tag}, checkTexts(&p.Name, p.Tag)
}

// newPlants is the body of a request that creates plants.
func newPlants(plants []Plant) (body plantapi.NewPlants, err error) {
	body.Plants = make([]plantapi.NewPlant, len(plants))
	for i, p := range plants {
		if body.Plants[i], err = p.newPlant(); err != nil {
			return body, fmt.Errorf("plant %d: %w", p.ID, err)
		}
	}
	return body, nil
}

// checkTexts refuses what JSON cannot carry: encoding/json would replace it, and
// the service would store something else than the program has.
func checkTexts(texts ...*string) error {
	for _, text := range texts {
		if text != nil && !utf8.ValidString(*text) {
			return fmt.Errorf("%.64q is not valid UTF-8", *text)
		}
	}
	return nil
}
