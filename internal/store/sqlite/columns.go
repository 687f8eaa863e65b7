package sqlite

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// columns are the columns of a table. Every statement, bind and scan is made from
// them.
type columns[Row any] []store.Column[Row]

// names returns the columns as a SELECT lists them, each with a prefix.
func (c columns[Row]) names(prefix string) string {
	names := make([]string, len(c))
	for i := range c {
		names[i] = prefix + c[i].Name
	}
	return strings.Join(names, ", ")
}

// insert returns a statement that inserts rows.
func (c columns[Row]) insert(table string, rows int) string {
	values := ", (?" + strings.Repeat(", ?", len(c)-1) + ")"
	return "INSERT INTO " + table + " (" + c.names("") + ") VALUES " + strings.Repeat(values, rows)[2:]
}

// update returns a statement that replaces the row that has the same key.
func (c columns[Row]) update(table string) string {
	set := make([]string, len(c))
	for i := range c {
		set[i] = fmt.Sprintf("%s = ?%d", c[i].Name, i+1)
	}
	return "UPDATE " + table + " SET " + strings.Join(set[1:], ", ") + " WHERE " + set[0]
}

// write runs a statement of insert or update with its rows.
func (c columns[Row]) write(conn *sqlite.Conn, statement string, rows ...Row) error {
	stmt, err := conn.Prepare(statement)
	if err != nil {
		return err
	}
	for i := range rows {
		for j := range c {
			bindValue(stmt, i*len(c)+j+1, c[j].Field(&rows[i]))
		}
	}
	_, err = stmt.Step()
	return cmp.Or(err, stmt.Reset())
}

// query calls fn with each row of a query that selects the columns of names. fn must not
// keep the pointer.
func (c columns[Row]) query(conn *sqlite.Conn, statement string, fn func(*Row), args ...any) error {
	var row Row
	return query(conn, statement, func(stmt *sqlite.Stmt) error {
		err := c.scan(stmt, 0, &row)
		if err == nil {
			fn(&row)
		}
		return err
	}, args...)
}

// one returns the only row of a query, or the error none if there is no row.
func (c columns[Row]) one(conn *sqlite.Conn, statement string, none error, args ...any) (only Row, err error) {
	err = c.query(conn, statement, func(row *Row) { only, none = *row, nil }, args...)
	return only, cmp.Or(err, none)
}

// scan reads the columns of names, which begin at column first. It sets every field
// that has a column.
func (c columns[Row]) scan(stmt *sqlite.Stmt, first int, row *Row) error {
	for i := range c {
		if err := scanValue(stmt, first+i, c[i].Field(row)); err != nil {
			return fmt.Errorf("sqlite: column %s: %w", c[i].Name, err)
		}
	}
	return nil
}

// bindValue binds the value that field points to; see [store.Column].
func bindValue(stmt *sqlite.Stmt, param int, field any) {
	switch v := field.(type) {
	case *int64:
		stmt.BindInt64(param, *v)
	case *string:
		stmt.BindText(param, *v)
	case **string:
		if *v == nil {
			stmt.BindNull(param)
		} else {
			stmt.BindText(param, **v)
		}
	case *time.Time:
		if v.IsZero() {
			stmt.BindNull(param)
		} else {
			stmt.BindInt64(param, v.UnixMicro())
		}
	case *[]token.Scope:
		stmt.BindText(param, token.JoinScopes(*v, " "))
	case *[32]byte:
		if *v == [32]byte{} {
			stmt.BindNull(param)
		} else {
			stmt.BindBytes(param, v[:])
		}
	default:
		panic(fmt.Sprintf("sqlite: no column has the type %T", field))
	}
}

// scanValue is the inverse of bindValue.
func scanValue(stmt *sqlite.Stmt, col int, field any) error {
	switch v := field.(type) {
	case *int64:
		*v = stmt.ColumnInt64(col)
	case *string:
		*v = stmt.ColumnText(col)
	case **string:
		*v = nil
		if !stmt.ColumnIsNull(col) {
			*v = new(stmt.ColumnText(col))
		}
	case *time.Time:
		*v = time.Time{}
		if !stmt.ColumnIsNull(col) {
			*v = time.UnixMicro(stmt.ColumnInt64(col)).UTC()
		}
	case *[]token.Scope:
		*v = token.SplitScopes(stmt.ColumnText(col))
	case *[32]byte:
		*v = [32]byte{}
		if n := stmt.ColumnLen(col); n != len(v) && !stmt.ColumnIsNull(col) {
			return fmt.Errorf("a hash has %d bytes, want %d", n, len(v))
		}
		stmt.ColumnBytes(col, v[:])
	}
	return nil
}
