package postgres

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// The codes of PostgreSQL that are treated one by one (its manual, appendix A).
const (
	uniqueViolation     = "23505"
	readOnlyTransaction = "25006" // a primary that became a standby
	completionUnknown   = "40003" // CockroachDB's
	undefinedTable      = "42P01"
	duplicateTable      = "42P07"
	duplicateObject     = "42710"
	undefinedObject     = "42704"
	protocolViolation   = "08P01" // of pgbouncer: an unknown parameter
	duplicateStatement  = "42P05"
	undefinedStatement  = "26000"
	invalidPassword     = "28P01"
	invalidAccount      = "28000"
	noSuchDatabase      = "3D000"
	notAllowed          = "42501"
)

// code returns the code of an error that the server sent, or "".
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// fate is what an error says of the transaction that it ended.
type fate int

const (
	failed  fate = iota // nothing was changed, and it would fail again
	again               // nothing was changed, and the same may succeed now or later
	unknown             // it may have been committed, or may yet be
)

// fateOf reads an error of a transaction. A server that says ERROR has rolled
// back; one that says FATAL may have committed before it closed the connection,
// and so may one that says nothing.
func fateOf(err error) fate {
	if errors.Is(err, errAgain) {
		return again
	}
	if _, ok := errors.AsType[answer](err); ok {
		return failed
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok, e.Code == completionUnknown:
		return unknown
	case cmp.Or(e.SeverityUnlocalized, e.Severity) != "ERROR":
		return unknown
	case passes(e.Code):
		return again
	}
	return failed
}

// passes reports whether an error with this code may not come again:
// serialization failures and deadlocks (40), a server that lacks resources (53),
// is stopping or starting (57), has lost another one (08) or became a standby.
func passes(code string) bool {
	if len(code) != 5 {
		return false
	}
	switch code[:2] {
	case "08", "40", "53", "57":
		return true
	}
	return code == readOnlyTransaction
}

// errAgain asks for another attempt.
var errAgain = errors.New("another program was faster")

// answer is what a caller is to be told, and no failure of the database.
type answer struct{ error }

func (a answer) Unwrap() error { return a.error }

// final is what a caller gets of an error that would come again.
func final(err error) error {
	if a, ok := errors.AsType[answer](err); ok {
		return a.error
	}
	if isPooled(err) {
		return fmt.Errorf("postgres: %w: %w", errPooled, err)
	}
	return fmt.Errorf("postgres: %w", err)
}

// unavailable marks an error that may pass, so that callers can tell it from
// that of something broken.
func unavailable(err error) error {
	return fmt.Errorf("postgres: %w: %w: %w", plant.ErrUnavailable, token.ErrUnavailable, err)
}
