package client

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oapi-codegen/nullable"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// A Plant is what the service stores under an id. In JSON it is as in the service.
type Plant struct {
	ID   int64   `json:"id"`            // any number, also 0 and less
	Name string  `json:"name"`          // at most 1000 characters; it can be empty
	Tag  *string `json:"tag,omitempty"` // at most 256 characters; it can be empty; nil: the plant has no tag

	// The service sets these. They are not sent.
	ETag      ETag      `json:"etag,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	ChangedBy string    `json:"changed_by,omitempty"` // who stored this version; empty: not known
}

// An ETag is the version of a plant, without the quotes of HTTP. It is never used
// twice for the same id.
type ETag string

// AnyETag matches every version of a plant: with [IfMatch] the plant must exist.
const AnyETag ETag = "*"

// IfMatch is a condition of [Client.Put], [Client.Patch] and [Client.Delete]: they
// change the plant only if it has this version. Otherwise the error is
// [ErrPreconditionFailed]. With several conditions, one of them must be met.
//
//	err := c.Delete(ctx, p.ID, client.IfMatch(p.ETag))
type IfMatch ETag

// IfNoneMatch is a condition of [Client.Get], which returns [ErrNotModified] if the
// plant has this version.
type IfNoneMatch ETag

var notInETags = regexp.MustCompile(`[[:cntrl:] "]`)

// setETags sets the header of conditions. Only text that is an entity tag by RFC 9110
// may be sent: a quote would begin a second one.
func setETags[T ~string](header http.Header, name string, etags []T) error {
	var values []string
	for _, etag := range etags {
		value := string(etag)
		switch {
		case value == "":
			return fmt.Errorf("%s: the ETag is empty; the plant may not be one that the service returned", name)
		case notInETags.MatchString(value):
			return fmt.Errorf("%s: %q is not an ETag", name, value)
		case ETag(value) != AnyETag:
			value = `"` + value + `"`
		}
		values = append(values, value)
	}
	if len(values) > 0 {
		header.Set(name, strings.Join(values, ", "))
	}
	return nil
}

// A Patch says what changes in a plant. The zero Patch changes nothing.
type Patch struct {
	Name      *string // the new name; nil keeps the name
	Tag       *string // the new tag; nil keeps the tag
	RemoveTag bool    // the plant has no tag afterwards; Tag must be nil
}

// body is the body of a patch that is valid.
func (p Patch) body() plantapi.PlantPatch {
	body := plantapi.PlantPatch{Name: p.Name}
	if p.Tag != nil {
		body.Tag = nullable.NewNullableWithValue(*p.Tag)
	}
	if p.RemoveTag {
		body.Tag = nullable.NewNullNullable[string]()
	}
	return body
}

// check returns an error if the patch cannot be sent.
func (p Patch) check() error {
	if p.Tag != nil && p.RemoveTag {
		return errors.New("a patch cannot both set and remove the tag")
	}
	return checkTexts(p.Name, p.Tag)
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

// isContentOf reports whether p and q have the same content.
func (p Plant) isContentOf(q Plant) bool { return p.change(q) == Patch{} }

// clone returns a copy that shares no memory with p.
func (p Plant) clone() Plant {
	if p.Tag != nil {
		p.Tag = new(*p.Tag)
	}
	return p
}

// check returns an error if the plant cannot be sent.
func (p Plant) check() error { return checkTexts(&p.Name, p.Tag) }

// content is the body of a request that stores p under its id.
func (p Plant) content() plantapi.Plant { return plantapi.Plant{Name: p.Name, Tag: p.Tag} }

// newPlant is the body of a request that creates p.
func (p Plant) newPlant() plantapi.NewPlant {
	return plantapi.NewPlant{ID: p.ID, Name: p.Name, Tag: p.Tag}
}

// newPlants is the body of a request that creates plants, and their ids.
func newPlants(plants []Plant) (body plantapi.NewPlants, ids []int64, err error) {
	body.Plants = make([]plantapi.NewPlant, len(plants))
	ids = make([]int64, len(plants))
	for i, p := range plants {
		body.Plants[i], ids[i] = p.newPlant(), p.ID
		if failed := p.check(); failed != nil {
			err = fmt.Errorf("plant %d: %w", p.ID, failed)
		}
	}
	return body, ids, err
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
