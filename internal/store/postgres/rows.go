package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/plantstore/plantstore/internal/plant"
)

// plantRows are the arrays for unnestPlants.
type plantRows struct {
	ids, versions, createdAt, updatedAt int64s
	names, tags, tagHashes              byteas
	text                                []byte // of the last names and tags
}

// newPlantRows returns arrays with room for n plants.
func newPlantRows(n int) *plantRows {
	ints, texts := make(int64s, 4*n), make(byteas, 3*n)
	return &plantRows{
		ids: ints[0:0:n], versions: ints[n : n : 2*n], createdAt: ints[2*n : 2*n : 3*n], updatedAt: ints[3*n : 3*n],
		names: texts[0:0:n], tags: texts[n : n : 2*n], tagHashes: texts[2*n : 2*n],
		text: make([]byte, 0, 64*n),
	}
}

func (r *plantRows) add(p *plant.Plant, version int64) {
	r.ids = append(r.ids, p.ID)
	r.names = append(r.names, r.bytes(p.Name))
	var tag []byte // NULL, which an empty one is not
	if p.Tag != nil {
		tag = r.bytes(*p.Tag)
	}
	r.tags = append(r.tags, tag)
	r.tagHashes = append(r.tagHashes, tagHash(p.Tag))
	r.versions = append(r.versions, version)
	r.createdAt = append(r.createdAt, p.CreatedAt.UnixMicro())
	r.updatedAt = append(r.updatedAt, p.UpdatedAt.UnixMicro())
}

// textChunk is how much memory texts share at least. Growing one buffer would
// copy all texts again and again, and keep each copy while a row refers to it.
const textChunk = 64 << 10

// bytes is a text in memory that it shares with others.
func (r *plantRows) bytes(text string) []byte {
	if len(text) > cap(r.text)-len(r.text) {
		r.text = make([]byte, 0, max(textChunk, len(text)))
	}
	from := len(r.text)
	r.text = append(r.text, text...)
	return r.text[from:len(r.text):len(r.text)]
}

func (r *plantRows) args() []any {
	return []any{r.ids, r.names, r.tags, r.tagHashes, r.versions, r.createdAt, r.updatedAt}
}

// int64s is a BIGINT[]. Pgx would allocate each element of a plain slice; what
// it gets here are pointers into it.
type int64s []int64

func (a int64s) Dimensions() []pgtype.ArrayDimension { return oneDimension(len(a)) }
func (a int64s) Index(i int) any                     { return (*int64Element)(&a[i]) }
func (a int64s) IndexType() any                      { return (*int64Element)(nil) }

type int64Element int64

// Int64Value implements [pgtype.Int64Valuer].
func (e *int64Element) Int64Value() (pgtype.Int8, error) {
	return pgtype.Int8{Int64: int64(*e), Valid: true}, nil
}

// byteas is a BYTEA[], where nil is NULL.
type byteas [][]byte

func (a byteas) Dimensions() []pgtype.ArrayDimension { return oneDimension(len(a)) }
func (a byteas) Index(i int) any                     { return (*byteaElement)(&a[i]) }
func (a byteas) IndexType() any                      { return (*byteaElement)(nil) }

type byteaElement []byte

// BytesValue implements [pgtype.BytesValuer].
func (e *byteaElement) BytesValue() ([]byte, error) { return *e, nil }

func oneDimension(n int) []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(n), LowerBound: 1}}
}
