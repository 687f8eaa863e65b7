package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
)

// The SQLSTATE codes that are handled one by one (PostgreSQL's manual, appendix A).
const (
	uniqueViolation     = "23505"
	readOnlyTransaction = "25006" // a primary that became a standby
	completionUnknown   = "40003" // CockroachDB's
	undefinedTable      = "42P01"
	duplicateTable      = "42P07"
	duplicateObject     = "42710"
	undefinedObject     = "42704"
	undefinedFunction   = "42883"
	protocolViolation   = "08P01" // pgbouncer reports an unknown parameter with it
	duplicateStatement  = "42P05"
	undefinedStatement  = "26000"
	invalidPassword     = "28P01"
	invalidAccount      = "28000"
	noSuchDatabase      = "3D000"
	notAllowed          = "42501"
	lockNotAvailable    = "55P03"
	diskFull            = "53100"
)

// code returns the SQLSTATE of an error that the server sent, or "".
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// fate is what an error says about the transaction that it ended.
type fate int

const (
	failed  fate = iota // nothing was changed, and another attempt would fail too
	again               // nothing was changed, and another attempt may succeed
	unknown             // it may have been committed, or may still be
)

// fateOf returns the fate of a transaction that ended with err. A server that
// reports an ERROR has rolled the transaction back. A server that reports FATAL
// may have committed it before it closed the connection; if the connection is
// lost without a message, so may the server.
func fateOf(err error) fate {
	if errors.Is(err, errAgain) {
		return again
	}
	if _, ok := errors.AsType[permanent](err); ok {
		return failed
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok, e.Code == completionUnknown:
		return unknown
	case cmp.Or(e.SeverityUnlocalized, e.Severity) != "ERROR":
		return unknown
	case e.Code == protocolViolation: // a wrong number of arguments, for instance
		return failed
	case transient(e.Code):
		return again
	}
	return failed
}

// transient reports whether another attempt may succeed after an error with this
// code: a serialization failure or a deadlock (class 40), a server that lacks
// resources (53), is stopping or starting (57), has lost a connection to another
// one (08) or became a standby.
func transient(code string) bool {
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
var errAgain = errors.New("another program has changed what this transaction has read")

// permanent marks an error that another attempt would return too.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// refused marks err as permanent if pgx refused to send a statement or could not
// scan a row. Such an error has no type; it is one that neither the server nor
// the network reported.
func refused(ctx context.Context, conn *pgx.Conn, err error) error {
	_, marked := errors.AsType[permanent](err)
	if err == nil || marked || ctx.Err() != nil || code(err) != "" {
		return err
	}
	if conn.IsClosed() {
		// pgx also closes a connection that works when it cannot encode a batch.
		_, batch := errors.AsType[pgx.ErrPreprocessingBatch](err)
		_, network := errors.AsType[net.Error](err)
		if !batch || network || errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	return permanent{fmt.Errorf("postgres: %w", err)}
}

// final returns the error of a call whose transaction failed.
func final(err error) error {
	if p, ok := errors.AsType[permanent](err); ok {
		return p.error
	}
	if isPooled(err) {
		return fmt.Errorf("postgres: %w: %w", errPooled, err)
	}
	if notAsNeeded(code(err)) {
		return unavailable(err)
	}
	return fmt.Errorf("postgres: %w", err)
}

// notAsNeeded reports whether an error with this code says that the database is not as the
// program needs it, so that an operator must act: a feature is missing (0A), or a schema (3F),
// a privilege, a table or a column (42; a copy to the database hides tables, see Target), an
// object is in use (55), or the server cannot read its files (58, XX).
func notAsNeeded(code string) bool {
	switch code[:min(2, len(code))] {
	case "0A", "3F", "42", "55", "58", "XX":
		return true
	}
	return false
}

// unavailable marks an error after which the same call may succeed later.
func unavailable(err error) error {
	if code(err) == diskFull {
		err = fmt.Errorf("%w (%w)", plant.ErrDiskFull, err)
	}
	return fmt.Errorf("postgres: %w", store.Unavailable(err))
}
