package postgres

import (
	"cmp"
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

// valueAdvice says what to write as the value of the most common parameters.
var valueAdvice = map[string]string{
	"pool_max_conns":          "write a number of at least 1",
	"pool_min_conns":          "write a number",
	"connect_timeout":         "write a number of seconds",
	"sslmode":                 "write disable, allow, prefer, require, verify-ca or verify-full",
	"sslrootcert":             "write a file with certificates in PEM",
	"target_session_attrs":    "write read-write, primary or any",
	"default_query_exec_mode": "write exec, or leave the parameter out",
}

// explainURL returns an error that says what is wrong with a URL that pgx cannot
// parse. It names a parameter only if the URL is valid without it: then pgx knows
// the name, so it is not part of a password.
func explainURL(dsn string) error {
	parsed, err := url.Parse(dsn)
	if err != nil {
		return errNotDSN
	}
	query := parsed.Query()
	parsed.RawQuery = query.Encode()
	if _, err := pgxpool.ParseConfig(parsed.String()); err == nil {
		return errNotDSN // the mistake is in the separators of the parameters
	}
	for name, values := range query {
		query.Del(name)
		parsed.RawQuery = query.Encode()
		if _, err := pgxpool.ParseConfig(parsed.String()); err == nil {
			advice := cmp.Or(valueAdvice[name], "correct it or remove the parameter")
			return fmt.Errorf("the value of %s in --store is not valid: %s", name, advice)
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
	_, noConnection := errors.AsType[*pgconn.ConnectError](err)
	_, noneOfSeveral := errors.AsType[noPrimary](err)
	noConnection = noConnection || noneOfSeveral
	err = causeOf(err)
	if isPooled(err) {
		return fmt.Errorf("%w: %w", errPooled, err)
	}
	if privileges := explainPrivileges(err, config); privileges != nil {
		return privileges
	}
	advice := adviceOfCode(code(err), config)
	if advice == "" && (noConnection || errors.Is(err, context.DeadlineExceeded)) {
		advice = adviceOfConnection(err, hostsOf(config))
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%s: %w", advice, err)
}

// hostsOf returns the hosts of a URL with their ports.
func hostsOf(config *pgx.ConnConfig) string {
	hosts := net.JoinHostPort(config.Host, fmt.Sprint(config.Port))
	for _, fallback := range config.Fallbacks {
		if host := net.JoinHostPort(fallback.Host, fmt.Sprint(fallback.Port)); !strings.Contains(hosts, host) {
			hosts += ", " + host
		}
	}
	return hosts
}

// adviceOfCode returns what to do about an error that the server reports with this code, or "".
func adviceOfCode(code string, config *pgx.ConnConfig) string {
	hosts, user, database := hostsOf(config), config.User, config.Database
	return map[string]string{
		invalidPassword: hosts + " rejects user " + user + ": check the user and the password in --store",
		invalidAccount: hosts + " rejects user " + user + ": check the user in --store, " +
			"and that pg_hba.conf of the server has a line for it",
		noSuchDatabase: hosts + " has no database " + database + ": create it with createdb " + database,
		tooManyConnections: hosts + " has no connection left for user " + user + ": raise max_connections of the server, " +
			"or the CONNECTION LIMIT of the user",
		lockNotAvailable: "another program has locked tables in database " + database + ", " +
			"for instance another plantstore copy or pg_dump: wait until it ends, then try again",
		duplicateTable: "database " + database + " has tables of another program: " +
			"give plantstore a database of its own",
	}[code]
}

// adviceOfConnection returns what to do about an error of connecting to the hosts.
func adviceOfConnection(err error, hosts string) string {
	_, otherName := errors.AsType[x509.HostnameError](err)
	_, otherAuthority := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case otherName:
		return "the certificate of " + hosts + " is for another name: " +
			"write the name in the certificate as the host in --store, or write sslmode=verify-ca to accept any name"
	case otherAuthority:
		return "the certificate of " + hosts + " is signed by an authority that this machine does not trust: " +
			"write sslrootcert=FILE in --store, with the file that has the certificate of the authority"
	case strings.Contains(err.Error(), refusedTLS):
		return hosts + " does not support TLS, and sslmode in --store requires it: " +
			"set ssl = on in postgresql.conf, or write sslmode=disable if you trust the network"
	case code(err) == undefinedObject, code(err) == protocolViolation:
		return hosts + " does not know a parameter in --store: correct its name or remove it"
	default:
		return "no PostgreSQL server that accepts writes responds at " + hosts + ": " +
			"start it, or check the hosts in --store"
	}
}

// explainPrivileges returns what to do if the user lacks a privilege, or nil if err
// has another cause.
func explainPrivileges(err error, config *pgx.ConnConfig) error {
	user, database := config.User, config.Database
	migration, migrating := errors.AsType[schemaError](err)
	_, lacking := errors.AsType[privilegeError](err)
	forbidden := code(err) == notAllowed
	switch {
	case lacking, forbidden && !migrating:
		return fmt.Errorf("user %s may not use the tables in database %s: as their owner run "+
			"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO %[1]s: %[3]w", user, database, err)
	case !forbidden:
		return nil
	case migration.have == 0:
		return fmt.Errorf("database %s has no tables of plantstore, and user %s may not create them: "+
			"run plantstore migrate as a user that may, or run GRANT USAGE, CREATE ON SCHEMA public TO %[2]s: %[3]w",
			database, user, err)
	}
	return fmt.Errorf("database %s has schema %d, this program needs schema %d, and user %s may not change it: "+
		"run plantstore migrate as the owner of the tables: %w", database, migration.have, migration.need, user, err)
}
