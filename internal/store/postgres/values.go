package postgres

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// text scans a text, which is BYTEA; see the migrations.
type text string

// ScanBytes implements [pgtype.BytesScanner].
func (t *text) ScanBytes(value []byte) error {
	*t = text(value)
	return nil
}

// optionalText scans a text or NULL, which is nil.
type optionalText struct{ field **string }

// ScanBytes implements [pgtype.BytesScanner].
func (t optionalText) ScanBytes(value []byte) error {
	*t.field = nil
	if value != nil {
		*t.field = new(string(value))
	}
	return nil
}

// optionalBytes is the inverse of [optionalText].
func optionalBytes(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text) // not nil, even if empty
}

// timestamp scans microseconds since 1970, or NULL, which is the zero time.
type timestamp time.Time

// ScanInt64 implements [pgtype.Int64Scanner].
func (t *timestamp) ScanInt64(value pgtype.Int8) error {
	*t = timestamp{}
	if value.Valid {
		*t = timestamp(time.UnixMicro(value.Int64).UTC())
	}
	return nil
}

// microseconds is the inverse of [timestamp].
func microseconds(value time.Time) pgtype.Int8 {
	return pgtype.Int8{Int64: value.UnixMicro(), Valid: !value.IsZero()}
}
