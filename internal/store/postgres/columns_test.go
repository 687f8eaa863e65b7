package postgres

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/token"
)

// A table or a column without a migration, or a migration without one of them, fails here.
func TestColumnsMatchMigrations(t *testing.T) {
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	names := func(query string, args ...any) []string {
		return value[[]string](t, s.pool, `SELECT array_agg(x ORDER BY x) FROM (`+query+`) AS found (x)`, args...)
	}
	want := slices.Sorted(slices.Values(append(slices.Clone(tables), "plantstore_schema")))
	const tablesOf = `SELECT table_name::TEXT FROM information_schema.tables WHERE table_schema = $1`
	if diff := cmp.Diff(want, names(tablesOf, schemaOf(t, dsn))); diff != "" {
		t.Errorf("the tables that checkPrivileges checks (-) and those of the migrations (+) differ:\n%s", diff)
	}
	const columnsOf = `SELECT column_name || ' ' || upper(data_type) FROM information_schema.columns
		WHERE table_schema = $1 AND table_name = $2`
	for table, declared := range map[string]string{
		"plants": writtenColumns.each("NAME TYPE", "\n"),
		"tokens": tokenColumns.each("NAME TYPE", "\n"),
	} {
		want := slices.Sorted(slices.Values(strings.Split(declared, "\n")))
		if diff := cmp.Diff(want, names(columnsOf, schemaOf(t, dsn), table)); diff != "" {
			t.Errorf("the columns of %s in internal/store/columns.go (-) and in internal/store/postgres/migrations (+) differ:\n%s", table, diff)
		}
	}
}

// Every member of a plant and of a token has a column that keeps its value; a
// member that the list of columns lacks fails here without a server.
func TestColumnsKeepEveryMember(t *testing.T) {
	t.Run("plant", func(t *testing.T) {
		want := store.PlantRow{Version: 1}
		fill(reflect.ValueOf(&want.Plant).Elem())
		keepsEveryMember(t, plantColumns, want, cmpopts.IgnoreFields(plant.Plant{}, "ETag")) // made of the version
		keepsEveryMember(t, plantColumns, store.PlantRow{})
	})
	t.Run("token", func(t *testing.T) {
		var want token.Token
		fill(reflect.ValueOf(&want).Elem())
		keepsEveryMember(t, tokenColumns, want)
		keepsEveryMember(t, tokenColumns, token.Token{})
	})
}

// fill sets every member of a struct to something else than its zero value.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Field(i)
		switch p := field.Addr().Interface().(type) {
		case *int64:
			*p = int64(i) + 1
		case *string:
			*p = v.Type().Field(i).Name
		case **string:
			*p = new(v.Type().Field(i).Name)
		case *time.Time:
			*p = time.UnixMicro(int64(i) + 1).UTC()
		case *[]token.Scope:
			*p = []token.Scope{token.Read, token.Write}
		case *[32]byte:
			p[0] = byte(i) + 1
		default:
			panic("fill does not know the type of " + v.Type().Field(i).Name)
		}
	}
}

// keepsEveryMember encodes the columns of a row as pgx does for the server, and
// decodes them again.
func keepsEveryMember[R any](t *testing.T, list columns[R], want R, options ...cmp.Option) {
	t.Helper()
	types := pgtype.NewMap()
	var got R
	for _, c := range list {
		element := reflect.ValueOf(arrayOf(c, []R{want})).Index(0).Interface()
		typ, ok := types.TypeForName(map[string]string{"BIGINT": "int8", "BYTEA": "bytea"}[typeOf(c)])
		if !ok {
			t.Fatalf("this test does not know the type %s of column %s", typeOf(c), c.Name)
		}
		for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
			encoded, err := types.Encode(typ.OID, format, element, nil)
			if err != nil {
				t.Fatalf("encode column %s: %v", c.Name, err)
			}
			if err := types.Scan(typ.OID, format, slices.Clone(encoded), scanner{c.Field(&got)}); err != nil {
				t.Fatalf("scan column %s: %v", c.Name, err)
			}
		}
	}
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("no column of internal/store/columns.go keeps (-want +got):\n%s", diff)
	}
}
