package postgres

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/token"
)

// A column without a migration, or a migration without a column, fails here
// without a server.
func TestColumnsMatchMigrations(t *testing.T) {
	for table, declared := range map[string]string{
		"plants": plantColumns.each("NAME TYPE", "\n"),
		"tokens": tokenColumns.each("NAME TYPE", "\n"),
	} {
		migrated, listed := migratedColumns(t, table), strings.Split(declared, "\n")
		slices.Sort(migrated)
		slices.Sort(listed)
		if diff := cmp.Diff(migrated, listed); diff != "" {
			t.Errorf("the migrations of table %s (-) and its list of columns (+) differ:\n%s", table, diff)
		}
	}
}

var (
	comment     = regexp.MustCompile(`--.*`)
	createTable = regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\);`)
	addColumn   = regexp.MustCompile(`ALTER TABLE (\w+) ADD COLUMN (\w+ \w+)`)
	dropColumn  = regexp.MustCompile(`ALTER TABLE (\w+) DROP COLUMN (\w+)`)
	nameAndType = regexp.MustCompile(`^\w+ +\w+`)
)

// migratedColumns returns the names and the types of the columns that the
// migrations give a table.
func migratedColumns(t *testing.T, table string) (list []string) {
	t.Helper()
	for _, text := range schema {
		text = comment.ReplaceAllString(text, "")
		for _, m := range createTable.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(m[2]) {
				if column := nameAndType.FindString(strings.TrimSpace(line)); m[1] == table && column != "" {
					list = append(list, strings.Join(strings.Fields(column), " "))
				}
			}
		}
		for _, m := range addColumn.FindAllStringSubmatch(text, -1) {
			if m[1] == table {
				list = append(list, m[2])
			}
		}
		for _, m := range dropColumn.FindAllStringSubmatch(text, -1) {
			if m[1] == table {
				list = slices.DeleteFunc(list, func(column string) bool { return strings.HasPrefix(column, m[2]+" ") })
			}
		}
	}
	return list
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
		t.Errorf("no column keeps (-want +got):\n%s", diff)
	}
}
