package transfer_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/client"
)

// Every field of a plant that clients write is in the files of each format. A field
// without a member would be lost silently by an export and an import.
func TestEveryFieldHasAMember(t *testing.T) {
	for f := range reflect.TypeFor[client.Plant]().Fields() {
		if slices.Contains([]string{"ETag", "CreatedAt", "UpdatedAt"}, f.Name) { // the service sets them
			continue
		}
		p := client.Plant{ID: 1, Name: "n"}
		switch field := reflect.ValueOf(&p).Elem().FieldByIndex(f.Index).Addr().Interface().(type) {
		case *int64:
			*field = 7
		case *string:
			*field = "text"
		case **string:
			*field = new("text")
		default:
			t.Fatalf("this test does not know the type of %s", f.Name)
		}
		for _, format := range formats {
			rows, refused := read(t, format, strings.NewReader(write(t, format, []client.Plant{p})))
			if len(refused) > 0 || len(rows) != 1 || !reflect.DeepEqual(rows[0].Plant, p) {
				t.Errorf("%s: %s is not written and read: it needs a line in members of internal/transfer/members.go (%+v, refused %q)", format, f.Name, rows, refused)
			}
		}
	}
}
