package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

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
	tooManyConnections  = "53300"
)

// code returns the SQLSTATE of an error that the server sent, or "".
func code(err error) string {
	if reported, ok := errors.AsType[*pgconn.PgError](err); ok {
		return reported.Code
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
	if isPermanent(err) {
		return failed
	}
	reported, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return unknown
	}
	severity := cmp.Or(reported.SeverityUnlocalized, reported.Severity)
	switch {
	case reported.Code == completionUnknown, severity != "ERROR":
		return unknown
	case reported.Code == protocolViolation: // a wrong number of arguments, for instance
		return failed
	case transient(reported.Code):
		return again
	}
	return failed
}

// transient reports whether another attempt may succeed after an error with this
// code: a serialization failure or a deadlock (class 40), a server that lacks
// resources (53), is stopping or starting (57), has lost a connection to another
// one (08) or became a standby.
func transient(code string) bool {
	return slices.Contains([]string{"08", "40", "53", "57"}, class(code)) || code == readOnlyTransaction
}

// class returns the class of a SQLSTATE, or "".
func class(code string) string {
	if len(code) != 5 {
		return ""
	}
	return code[:2]
}

// errAgain asks for another attempt.
var errAgain = errors.New("another program has changed what this transaction has read")

// permanent marks an error that another attempt would return too.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

func isPermanent(err error) bool {
	_, ok := errors.AsType[permanent](err)
	return ok
}

// refused marks err as permanent if pgx refused to send a statement or could not
// scan a row. Such an error has no type; it is one that neither the server nor
// the network reported.
func refused(ctx context.Context, conn *pgx.Conn, err error) error {
	if err == nil || isPermanent(err) {
		return err
	}
	reported := code(err) != "" || ctx.Err() != nil
	lost := conn.IsClosed() && !notEncoded(err)
	if reported || lost {
		return err
	}
	return permanent{fmt.Errorf("postgres: %w", err)}
}

// notEncoded reports whether pgx could not encode a batch. It closes the connection then, too.
func notEncoded(err error) bool {
	_, batch := errors.AsType[pgx.ErrPreprocessingBatch](err)
	_, network := errors.AsType[net.Error](err)
	lost := network || errors.Is(err, io.ErrUnexpectedEOF)
	return batch && !lost
}

// final returns the error of a call whose transaction failed.
func final(err error) error {
	if marked, ok := errors.AsType[permanent](err); ok {
		return marked.error
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
// a privilege, a table or a column (42), an object is in use (55), or the server cannot read its files (58, XX).
func notAsNeeded(code string) bool {
	return slices.Contains([]string{"0A", "3F", "42", "55", "58", "XX"}, class(code))
}

// unavailable marks an error after which the same call may succeed later.
func unavailable(err error) error {
	if code(err) == diskFull {
		err = fmt.Errorf("%w (%w)", plant.ErrDiskFull, err)
	}
	return fmt.Errorf("postgres: %w", store.Unavailable(err))
}
