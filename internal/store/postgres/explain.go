package postgres

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errNotDSN does not quote the URL: a URL that cannot be parsed may contain a
// password anywhere.
var errNotDSN = errors.New("this is not a PostgreSQL URL: write postgres://USER:PASSWORD@HOST:5432/DATABASE, " +
	"with %40 for @, %2F for / and %3A for : in a password, and several hosts separated by commas")

// validValues describes the values of the most common parameters.
var validValues = map[string]string{
	"pool_max_conns":          "a number of at least 1",
	"pool_min_conns":          "a number",
	"connect_timeout":         "a number of seconds",
	"sslmode":                 "disable, allow, prefer, require, verify-ca or verify-full",
	"sslrootcert":             "a file with certificates in PEM",
	"target_session_attrs":    "read-write, primary or any",
	"default_query_exec_mode": "exec, or leave the parameter out",
}

// explainURL returns an error that says what is wrong with a URL that pgx cannot
// parse. It names a parameter only if the URL is valid without it: then pgx knows
// the name, so it is not part of a password.
func explainURL(dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil {
		return errNotDSN
	}
	query := u.Query()
	u.RawQuery = query.Encode()
	if _, err := pgxpool.ParseConfig(u.String()); err == nil {
		return errNotDSN // the mistake is in the separators of the parameters
	}
	for name, values := range query {
		query.Del(name)
		u.RawQuery = query.Encode()
		if _, err := pgxpool.ParseConfig(u.String()); err == nil {
			if valid := validValues[name]; valid != "" {
				return fmt.Errorf("the value of %s in --store is not valid: write %s", name, valid)
			}
			return fmt.Errorf("the value of %s in --store is not valid: correct it or remove the parameter", name)
		}
		query[name] = values
	}
	return errNotDSN
}

// refusedTLS is part of the text of an error of pgx that has no type.
const refusedTLS = "server refused TLS connection"

// errPooled means that prepared statements do not work. A pooler may run each
// transaction in another session of the server, and a prepared statement belongs
// to one session.
var errPooled = errors.New("the database is behind pgbouncer or a similar pooler with transaction pooling: " +
	"add default_query_exec_mode=exec to the URL in --store and restart")

// isPooled reports whether an error shows that prepared statements do not work.
func isPooled(err error) bool {
	return code(err) == duplicateStatement || code(err) == undefinedStatement
}

// causeOf returns the error of one attempt to connect: pgx joins those of all attempts, to each
// address of the host, with and without TLS. It prefers what the server says about the user or
// the database.
func causeOf(err error) error {
	connectErr, ok := errors.AsType[*pgconn.ConnectError](err)
	if !ok {
		return err
	}
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](connectErr.Unwrap())
	if !ok {
		return connectErr.Unwrap()
	}
	attempts := joined.Unwrap()
	if i := slices.IndexFunc(attempts, func(err error) bool { return code(err) != "" }); i >= 0 {
		return attempts[i]
	}
	return attempts[len(attempts)-1]
}

// explain adds to an error of opening the store what to do about it.
func explain(err error, config *pgx.ConnConfig) error {
	hosts := net.JoinHostPort(config.Host, fmt.Sprint(config.Port))
	for _, f := range config.Fallbacks {
		if host := net.JoinHostPort(f.Host, fmt.Sprint(f.Port)); !strings.Contains(hosts, host) {
			hosts += ", " + host
		}
	}
	_, noConnection := errors.AsType[*pgconn.ConnectError](err)
	_, noneOfSeveral := errors.AsType[noPrimary](err)
	noConnection = noConnection || noneOfSeveral
	err = causeOf(err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	_, otherAuthority := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case otherName:
		return fmt.Errorf("the certificate of %s is for another name: "+
			"write the name in the certificate as the host in --store, "+
			"or write sslmode=verify-ca to accept any name: %w", hosts, err)
	case otherAuthority:
		return fmt.Errorf("the certificate of %s is signed by an authority that this machine does not trust: "+
			"write sslrootcert=FILE in --store, "+
			"with the file that has the certificate of the authority: %w", hosts, err)
	case noConnection && strings.Contains(err.Error(), refusedTLS):
		return fmt.Errorf("%s does not support TLS, and sslmode in --store requires it: "+
			"set ssl = on in postgresql.conf, or write sslmode=disable if you trust the network: %w", hosts, err)
	case noConnection && (code(err) == undefinedObject || code(err) == protocolViolation):
		return fmt.Errorf("%s does not know a parameter in --store: correct its name or remove it: %w", hosts, err)
	case isPooled(err):
		return fmt.Errorf("%w: %w", errPooled, err)
	}
	if privileges := explainPrivileges(err, config); privileges != nil {
		return privileges
	}
	switch code(err) {
	case invalidPassword:
		return fmt.Errorf("%s rejects user %s: check the user and the password in --store: %w", hosts, config.User, err)
	case invalidAccount:
		return fmt.Errorf("%s rejects user %s: check the user in --store, "+
			"and that pg_hba.conf of the server has a line for it: %w", hosts, config.User, err)
	case noSuchDatabase:
		return fmt.Errorf("%s has no database %s: create it with createdb %[2]s: %w", hosts, config.Database, err)
	case lockNotAvailable:
		return fmt.Errorf("another program has locked tables in database %s, "+
			"for instance another plantstore copy or pg_dump: wait until it ends, then try again: %w",
			config.Database, err)
	case duplicateTable:
		return fmt.Errorf("database %s has tables of another program: give plantstore a database of its own: %w",
			config.Database, err)
	}
	if noConnection || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no PostgreSQL server that accepts writes responds at %s: "+
			"start it, or check the hosts in --store: %w", hosts, err)
	}
	return err
}

// explainPrivileges returns what to do if the user lacks a privilege, or nil if err
// has another cause.
func explainPrivileges(err error, config *pgx.ConnConfig) error {
	schema, old := errors.AsType[schemaError](err)
	_, lacking := errors.AsType[privilegeError](err)
	switch {
	case lacking || code(err) == notAllowed && !old:
		return fmt.Errorf("user %s may not use the tables in database %s: as their owner run "+
			"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO %[1]s: %[3]w",
			config.User, config.Database, err)
	case code(err) != notAllowed:
		return nil
	case schema.have == schema.need:
		return fmt.Errorf("user %s does not own the tables in database %s: run this command as their owner: %w",
			config.User, config.Database, err)
	case schema.have == 0:
		return fmt.Errorf("database %s has no tables of plantstore, and user %s may not create them: "+
			"run plantstore migrate as a user that may, or run GRANT USAGE, CREATE ON SCHEMA public TO %[2]s: %[3]w",
			config.Database, config.User, err)
	}
	return fmt.Errorf("database %s has schema %d, this program needs schema %d, and user %s may not change it: "+
		"run plantstore migrate as the owner of the tables: %w",
		config.Database, schema.have, schema.need, config.User, err)
}
