//go:build unix

package postgres

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/token"
)

// The error for each mistake in the URL says what to do.
func TestOpenErrorMessages(t *testing.T) {
	dsn := newProxy(t, pgtest.DSN(t)).dsn // over TCP, without TLS
	withTLS, authority := newTLSServer(t)
	for name, c := range map[string]struct {
		dsn  string
		set  map[string]string
		want string
	}{
		"TLS is required and not supported": {dsn, map[string]string{"sslmode": "require"}, "does not support TLS, and sslmode in --store requires it: set ssl = on"},
		"the certificate is for another name": {
			strings.Replace(withTLS, "127.0.0.1", "localhost", 1),
			map[string]string{"sslmode": "verify-full", "sslrootcert": authority},
			"is for another name: write the name in the certificate as the host in --store",
		},
		"the certificate is of an unknown authority": {withTLS, map[string]string{"sslmode": "verify-full"}, "write sslrootcert=FILE in --store"},
		"an unknown parameter":                       {dsn, map[string]string{"colour": "green"}, "does not know a parameter in --store: correct its name or remove it"},
		"no connections":                             {dsn, map[string]string{"pool_max_conns": "0"}, "the value of pool_max_conns in --store is not valid: write a number of at least 1"},
		"pool_max_conns is not a number":             {dsn, map[string]string{"pool_max_conns": "many"}, "the value of pool_max_conns in --store is not valid: write a number of at least 1"},
		"an unknown sslmode":                         {dsn, map[string]string{"sslmode": "on"}, "the value of sslmode in --store is not valid: write disable,"},
		"an unknown lifetime":                        {dsn, map[string]string{"pool_max_conn_lifetime": "long"}, "the value of pool_max_conn_lifetime in --store is not valid: correct it"},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(c.dsn)
			must.NoError(t, err)
			query := u.Query()
			for name, value := range c.set {
				query.Set(name, value)
			}
			u.RawQuery = query.Encode()
			wantRefused(t, u.String(), c.want)
		})
	}
}

// newTLSServer returns the URL of a server that starts TLS, and the file with the certificate of its authority. Its own
// certificate is for 127.0.0.1.
func newTLSServer(t *testing.T) (dsn, authority string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil) // a client of PostgreSQL refuses its certificate before it sends anything
	server.TLS = &tls.Config{NextProtos: []string{"postgresql"}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	authority = filepath.Join(t.TempDir(), "authority.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	must.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(block), 0o600))
	return "postgres://plantstore@" + server.Listener.Addr().String() + "/postgres?sslnegotiation=direct", authority
}

// Prepared statements do not work behind pgbouncer with transaction pooling: the
// store reports it and is not ready. With default_query_exec_mode=exec it works.
func TestPgBouncerTransactionPooling(t *testing.T) {
	dsn := pgtest.Pooler(t, pgtest.DSN(t), 20)
	const advice = "add default_query_exec_mode=exec to the URL in --store"
	store := open(t, dsn)
	get := func(store *Store) error {
		_, err := store.Get(t.Context(), 1)
		return err
	}
	if err := get(store); !errors.Is(err, plant.ErrNotFound) {
		t.Fatalf("Get = %v, want %v", err, plant.ErrNotFound)
	}
	if err := store.Ready(t.Context()); err != nil {
		t.Fatalf("Ready = %v before a statement failed", err)
	}
	conn, err := store.pool.Acquire(t.Context())
	must.NoError(t, err)
	err = get(store) // on another connection, for which pgbouncer uses the same session
	conn.Release()
	expect.Message(t, "Get", err, advice)
	expect.Message(t, "Ready", store.Ready(t.Context()), advice)
	wantRefused(t, dsn, advice)

	store = open(t, dsn+"&default_query_exec_mode=exec")
	err = store.Create(t.Context(), plant.Plant{ID: 1, Name: "n"})
	for range 3 { // the last one on a fourth connection
		err = errors.Join(err, get(store))
		conn, acquireErr := store.pool.Acquire(t.Context())
		if acquireErr != nil {
			t.Fatal(acquireErr)
		}
		defer conn.Release()
	}
	if err := errors.Join(err, store.Ready(t.Context())); err != nil {
		t.Errorf("without prepared statements: %v", err)
	}
}

// Through two sessions of a pooler with transaction pooling, and with the setting that the
// operator's manual names, a store keeps every promise, and is the source and the target of a copy.
func TestStoreBehindPooler(t *testing.T) {
	pooled := func(t *testing.T) string {
		return pgtest.Pooler(t, pgtest.DSN(t), 2) + "&default_query_exec_mode=exec"
	}
	storetest.Plants(t, func(t *testing.T) plant.Store { return open(t, pooled(t)) })
	storetest.Tokens(t, func(t *testing.T) token.Store { return open(t, pooled(t)) })
	storetest.Copy(t, func(t *testing.T) storetest.Place { return placeOf(pooled(t)) })
}

// An error of connecting has one cause, with every sslmode. With the default, prefer, pgx
// tries TLS first, and reports that the server refused it before the cause.
func TestDrillConnectErrors(t *testing.T) {
	hba := filepath.Join(pgtest.Folder(t), "pg_hba.conf")
	must.NoError(t, os.WriteFile(hba, []byte(`
		host all plantstore 127.0.0.1/32 trust
		host all nobody 127.0.0.1/32 trust
		host all full 127.0.0.1/32 trust
		host all locked 127.0.0.1/32 scram-sha-256`), 0o644))
	server := pgtest.NewServer(t, "hba_file = '"+hba+"'")
	execute(t, pgtest.Connect(t, pgtest.URL(server)), `CREATE ROLE locked LOGIN PASSWORD 'right'; CREATE ROLE elsewhere LOGIN;
		CREATE ROLE "full" LOGIN CONNECTION LIMIT 0`)
	address := fmt.Sprint("127.0.0.1:", server.Port)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and says nothing
	must.NoError(t, err)
	t.Cleanup(func() { silent.Close() })
	for _, c := range []struct {
		name, url, want string
		beforeTLS       bool // sslmode does not matter
		causes          int  // one for each host; 0: one
	}{
		{name: "a wrong password", url: "locked:SECRET@" + address + "/postgres", want: address + " rejects user locked: check the user and the password in --store: "},
		{name: "a wrong password of several hosts", url: "locked:SECRET@" + address + ",127.0.0.1:1/postgres", want: address + ", 127.0.0.1:1 rejects user locked: check the user and the password in --store: ", causes: 2},
		{name: "no such role", url: "nobody@" + address + "/postgres", want: address + " rejects user nobody: check the user in --store, and that pg_hba.conf of the server has a line for it: "},
		{name: "no line in pg_hba.conf", url: "elsewhere@" + address + "/postgres", want: address + " rejects user elsewhere: check the user in --store, and that pg_hba.conf of the server has a line for it: "},
		{name: "no such database", url: "plantstore@" + address + "/missing", want: address + " has no database missing: create it with createdb missing: "},
		{name: "no connection left", url: "full@" + address + "/postgres", want: address + " has no connection left for user full: raise max_connections of the server, or the CONNECTION LIMIT of the user: "},
		{name: "a port without a server", url: "plantstore@127.0.0.1:1/postgres", want: "no PostgreSQL server that accepts writes responds at 127.0.0.1:1: ", beforeTLS: true},
		{name: "an unknown host", url: "plantstore@missing.invalid:5432/postgres", want: "no PostgreSQL server that accepts writes responds at missing.invalid:5432: ", beforeTLS: true},
		{name: "a server that does not respond", url: "plantstore@" + silent.Addr().String() + "/postgres", want: "no PostgreSQL server that accepts writes responds at " + silent.Addr().String() + ": ", beforeTLS: true},
	} {
		for _, mode := range []string{"", "disable", "prefer", "require"} {
			t.Run(c.name+", sslmode="+mode, func(t *testing.T) {
				t.Parallel()
				dsn, want := "postgres://"+c.url+"?connect_timeout=1", "open PostgreSQL: "+c.want
				if mode != "" {
					dsn += "&sslmode=" + mode
				}
				if mode == "require" && !c.beforeTLS {
					hosts, _, _ := strings.Cut(c.want, " rejects")
					hosts, _, _ = strings.Cut(hosts, " has no ")
					want = "open PostgreSQL: " + hosts + " does not support TLS, and sslmode in --store requires it: set ssl = on"
				}
				s, err := Open(t.Context(), dsn)
				if err == nil {
					s.Close()
					t.Fatal("Open = nil")
				}
				message := err.Error()
				if !strings.HasPrefix(message, want) || strings.Count(message, "\n") > max(c.causes-1, 0) || strings.Contains(message, "SECRET") {
					t.Errorf("Open = %q, want a line for each host that begins with %q", message, want)
				}
				if mode != "require" && strings.Contains(message, "TLS") {
					t.Errorf("Open = %q, which is not about TLS", message)
				}
			})
		}
	}
}

// Of the attempts to connect to the addresses of a host, the cause is the one in which the server has said something.
func TestCauseOfSeveralAttempts(t *testing.T) {
	addresses := []string{"first", "second", "third"}
	for _, responding := range addresses {
		config, err := pgconn.ParseConfig("postgres://full@several/postgres?sslmode=disable&connect_timeout=10")
		must.NoError(t, err)
		config.LookupFunc = func(context.Context, string) ([]string, error) { return addresses, nil }
		config.DialFunc = func(_ context.Context, _, address string) (net.Conn, error) {
			if !strings.HasPrefix(address, responding) {
				return nil, errors.New("connection refused")
			}
			client, server := net.Pipe()
			go refuseConnection(server)
			return client, nil
		}
		_, err = pgconn.ConnectConfig(t.Context(), config)
		if cause := causeOf(err); code(cause) != tooManyConnections {
			t.Errorf("the %s address refuses the connection, and the cause is %v", responding, cause)
		}
	}
}

// refuseConnection responds to a client as a server that has no connection left.
func refuseConnection(server net.Conn) {
	defer server.Close()
	backend := pgproto3.NewBackend(server, server)
	_, _ = backend.ReceiveStartupMessage()
	backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: tooManyConnections})
	_ = backend.Flush()
}
