package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// columns are the columns of a table. Every statement, its arguments and every scan
// of a row are made from them. Texts are BYTEA; see the migrations.
type columns[R any] []store.Column[R]

// each returns the pattern once for each column, with its NAME, its TYPE and its
// NUMBER in the list.
func (cs columns[R]) each(pattern, separator string) string {
	list := make([]string, len(cs))
	for i, c := range cs {
		list[i] = strings.NewReplacer("NAME", c.Name, "TYPE", typeOf(c), "NUMBER", strconv.Itoa(i+1)).Replace(pattern)
	}
	return strings.Join(list, separator)
}

// names returns the names of the columns, as SELECT and INSERT list them.
func (cs columns[R]) names() string { return cs.each("NAME", ", ") }

// unnest returns a table expression with a row for each element of the arrays in
// args, so that one statement serves any number of rows.
func (cs columns[R]) unnest() string {
	return "unnest(" + cs.each("$NUMBER::TYPE[]", ", ") + ") AS new (" + cs.names() + ")"
}

// next returns the placeholder of the nth argument, from 1 on, that follows those
// of unnest.
func (cs columns[R]) next(n int) string { return "$" + strconv.Itoa(len(cs)+n) }

// args returns the arguments of unnest, followed by others.
func (cs columns[R]) args(rows []R, others ...any) []any {
	args := make([]any, 0, len(cs)+len(others))
	for _, c := range cs {
		args = append(args, arrayOf(c, rows))
	}
	return append(args, others...)
}

// values returns the values of the columns of each row, one row after the other, as
// the arguments of [insertRows].
func (cs columns[R]) values(rows []R) []any {
	values := make([]any, 0, len(cs)*len(rows))
	for i := range rows {
		for _, c := range cs {
			values = append(values, valueOf(c.Field(&rows[i])))
		}
	}
	return values
}

// without returns the columns with other names.
func (cs columns[R]) without(names ...string) columns[R] {
	return slices.DeleteFunc(slices.Clone(cs), func(c store.Column[R]) bool { return slices.Contains(names, c.Name) })
}

// targets returns where Scan stores the columns.
func (cs columns[R]) targets(row *R) (targets []any) {
	for _, c := range cs {
		targets = append(targets, target(c.Field(row)))
	}
	return targets
}

// typeOf returns the SQL type of a column.
func typeOf[R any](c store.Column[R]) string {
	switch c.Field(new(R)).(type) {
	case *int64, *time.Time:
		return "BIGINT"
	}
	return "BYTEA"
}

// arrayOf returns the values of a column, one for each row.
func arrayOf[R any](c store.Column[R], rows []R) any {
	switch c.Field(new(R)).(type) {
	case *int64:
		return collect(c, rows, func(field any) int64 { return *field.(*int64) })
	case *time.Time:
		return collect(c, rows, func(field any) pgtype.Int8 { return microsOf(field.(*time.Time)) })
	}
	return collect(c, rows, bytesOf)
}

func collect[R, V any](c store.Column[R], rows []R, value func(field any) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = value(c.Field(&rows[i]))
	}
	return values
}

// valueOf returns the value that field points to.
func valueOf(field any) any {
	switch v := field.(type) {
	case *int64:
		return *v
	case *time.Time:
		return microsOf(v)
	}
	return bytesOf(field)
}

// microsOf returns a time in microseconds since 1970; the zero time is NULL.
func microsOf(at *time.Time) pgtype.Int8 {
	return pgtype.Int8{Int64: at.UnixMicro(), Valid: !at.IsZero()}
}

// bytesOf returns the value that field points to as a BYTEA; nil is NULL.
func bytesOf(field any) []byte {
	switch v := field.(type) {
	case *string:
		return []byte(*v)
	case **string:
		if *v == nil {
			return nil
		}
		return []byte(**v) // not nil, even if empty
	case *[]token.Scope:
		return []byte(token.JoinScopes(*v, " "))
	case *[32]byte:
		if *v == [32]byte{} {
			return nil
		}
		return v[:]
	}
	panic(fmt.Sprintf("postgres: no column has the type %T", field))
}

// target returns where Scan stores the value of a field.
func target(field any) any {
	switch v := field.(type) {
	case *int64:
		return v
	case *time.Time:
		return scanTime{v}
	}
	return scanBytes{field}
}

// scanTime implements [pgtype.Int64Scanner].
type scanTime struct{ *time.Time }

func (s scanTime) ScanInt64(v pgtype.Int8) error {
	*s.Time = time.Time{}
	if v.Valid {
		*s.Time = time.UnixMicro(v.Int64).UTC()
	}
	return nil
}

// scanBytes implements [pgtype.BytesScanner]. It is the inverse of bytesOf.
type scanBytes struct{ field any }

func (s scanBytes) ScanBytes(b []byte) error {
	switch v := s.field.(type) {
	case *string:
		*v = string(b)
	case **string:
		*v = nil
		if b != nil {
			*v = new(string(b))
		}
	case *[]token.Scope:
		*v = token.SplitScopes(string(b))
	case *[32]byte:
		*v = [32]byte{}
		if copy(v[:], b); b != nil && len(b) != len(v) {
			return fmt.Errorf("a hash has %d bytes, want %d", len(b), len(v))
		}
	default:
		panic(fmt.Sprintf("postgres: no column has the type %T", s.field))
	}
	return nil
}
