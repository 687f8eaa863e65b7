package postgres

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// columns are the columns of a table, each declared once. Every statement, its
// arguments and every scan of a row of type R are made from this list, so a new
// column is one line in it and a migration. The order is that of the migrations.
type columns[R any] []column[R]

// column is a column of a table.
type column[R any] struct {
	name, sqlType string
	array         func(rows []R) any // its values, one for each row, as an array of sqlType
	target        func(row *R) any   // where Scan stores its value; nil: the column is not read
	text          bool               // a text of any length, which plant.Plant.Size counts
}

// each returns the pattern once for each column, with its NAME, its TYPE and its
// NUMBER in the list.
func (cs columns[R]) each(pattern, separator string) string {
	list := make([]string, len(cs))
	for i, c := range cs {
		list[i] = strings.NewReplacer("NAME", c.name, "TYPE", c.sqlType, "NUMBER", strconv.Itoa(i+1)).Replace(pattern)
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
		args = append(args, c.array(rows))
	}
	return append(args, others...)
}

// where returns the columns that keep reports true for.
func (cs columns[R]) where(keep func(column[R]) bool) columns[R] {
	return slices.DeleteFunc(slices.Clone(cs), func(c column[R]) bool { return !keep(c) })
}

// without returns the columns with other names.
func (cs columns[R]) without(names ...string) columns[R] {
	return cs.where(func(c column[R]) bool { return !slices.Contains(names, c.name) })
}

// targets returns where Scan stores the columns, followed by others.
func (cs columns[R]) targets(row *R, others ...any) []any {
	targets := make([]any, 0, len(cs)+len(others))
	for _, c := range cs {
		targets = append(targets, c.target(row))
	}
	return append(targets, others...)
}

// arrayOf returns a function that collects a value of each row.
func arrayOf[R, V any](value func(row *R) V) func(rows []R) any {
	return func(rows []R) any {
		values := make([]V, len(rows))
		for i := range rows {
			values[i] = value(&rows[i])
		}
		return values
	}
}

// bigint is a column of numbers.
func bigint[R any](name string, field func(*R) *int64) column[R] {
	return column[R]{
		name: name, sqlType: "BIGINT",
		array:  arrayOf(func(row *R) int64 { return *field(row) }),
		target: func(row *R) any { return field(row) },
	}
}

// moment is a column of times, in microseconds since 1970.
func moment[R any](name string, field func(*R) *time.Time) column[R] {
	return column[R]{
		name: name, sqlType: "BIGINT",
		array: arrayOf(func(row *R) int64 { return field(row).UnixMicro() }),
		target: func(row *R) any {
			return scanInt64(func(v pgtype.Int8) {
				*field(row) = time.Time{}
				if v.Valid {
					*field(row) = time.UnixMicro(v.Int64).UTC()
				}
			})
		},
	}
}

// optionalMoment is a column of times where NULL is the zero time.
func optionalMoment[R any](name string, field func(*R) *time.Time) column[R] {
	c := moment(name, field)
	c.array = arrayOf(func(row *R) pgtype.Int8 {
		at := *field(row)
		return pgtype.Int8{Int64: at.UnixMicro(), Valid: !at.IsZero()}
	})
	return c
}

// bytea is a column of bytes, where NULL is nil.
func bytea[R any](name string, get func(*R) []byte, set func(*R, []byte) error) column[R] {
	return column[R]{
		name: name, sqlType: "BYTEA", array: arrayOf(get),
		target: func(row *R) any { return scanBytes(func(v []byte) error { return set(row, v) }) },
	}
}

// text is a column of texts.
func text[R any](name string, field func(*R) *string) column[R] {
	c := bytea(name,
		func(row *R) []byte { return []byte(*field(row)) },
		func(row *R, v []byte) error { *field(row) = string(v); return nil })
	c.text = true
	return c
}

// optionalText is a column of texts where NULL is nil.
func optionalText[R any](name string, field func(*R) **string) column[R] {
	c := bytea(name, func(row *R) []byte {
		if text := *field(row); text != nil {
			return []byte(*text) // not nil, even if empty
		}
		return nil
	}, func(row *R, v []byte) error {
		*field(row) = nil
		if v != nil {
			*field(row) = new(string(v))
		}
		return nil
	})
	c.text = true
	return c
}

// scanInt64 implements [pgtype.Int64Scanner].
type scanInt64 func(v pgtype.Int8)

func (scan scanInt64) ScanInt64(v pgtype.Int8) error {
	scan(v)
	return nil
}

// scanBytes implements [pgtype.BytesScanner].
type scanBytes func(v []byte) error

func (scan scanBytes) ScanBytes(v []byte) error { return scan(v) }
