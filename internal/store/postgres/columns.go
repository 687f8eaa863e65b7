package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
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
		targets = append(targets, scanner{c.Field(row)})
	}
	return targets
}

// one scans the only row of a query. It returns none if there is no row.
func (cs columns[R]) one(row pgx.Row, none error) (r R, err error) {
	err = row.Scan(cs.targets(&r)...)
	if errors.Is(err, pgx.ErrNoRows) {
		err = permanent{none}
	}
	return r, err
}

// typeOf returns the SQL type of a column.
func typeOf[R any](c store.Column[R]) string {
	if _, ok := valueOf(c.Field(new(R))).(pgtype.Int8); ok {
		return "BIGINT"
	}
	return "BYTEA"
}

// arrayOf returns the values of a column, one for each row.
func arrayOf[R any](c store.Column[R], rows []R) any {
	if typeOf(c) == "BIGINT" {
		return collect[pgtype.Int8](c, rows)
	}
	return collect[[]byte](c, rows)
}

func collect[V, R any](c store.Column[R], rows []R) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = valueOf(c.Field(&rows[i])).(V)
	}
	return values
}

// valueOf returns the value that field points to as a BIGINT or BYTEA. NULL is a nil
// string, a zero time and a hash of zeros. Times are microseconds since 1970.
func valueOf(field any) any {
	switch v := field.(type) {
	case *int64:
		return pgtype.Int8{Int64: *v, Valid: true}
	case *time.Time:
		return pgtype.Int8{Int64: v.UnixMicro(), Valid: !v.IsZero()}
	case *string:
		return []byte(*v)
	case **string:
		if *v != nil {
			return []byte(**v) // not nil, even if empty
		}
	case *[]token.Scope:
		return []byte(token.JoinScopes(*v, " "))
	case *[32]byte:
		if *v != [32]byte{} {
			return v[:]
		}
	default:
		panic(fmt.Sprintf("postgres: no column has the type %T", field))
	}
	return []byte(nil)
}

// scanner implements [pgtype.Int64Scanner] and [pgtype.BytesScanner] for a field. It is the
// inverse of valueOf.
type scanner struct{ field any }

func (s scanner) ScanInt64(n pgtype.Int8) error {
	switch v := s.field.(type) {
	case *int64:
		*v = n.Int64
	case *time.Time:
		*v = time.Time{}
		if n.Valid {
			*v = time.UnixMicro(n.Int64).UTC()
		}
	}
	return nil
}

func (s scanner) ScanBytes(b []byte) error {
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
	}
	return nil
}
