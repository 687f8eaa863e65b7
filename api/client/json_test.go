package client

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
)

// decodePlants decodes what the service writes: every member of a plant, and
// strings with and without escapes.
func TestDecodePlants(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 9, 0, 0, 1000, time.UTC)
	plants := plantapi.StoredPlants{
		{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae"), ETag: "a", CreatedAt: at, UpdatedAt: at},
		{ID: -1 << 63, Name: "\x00\"\\\n 🌱\u2028</>", Tag: new(""), ETag: "b"},
		{ID: 1<<63 - 1},
	}
	for i := range reflect.TypeFor[plantapi.StoredPlant]().NumField() {
		if reflect.ValueOf(plants[0]).Field(i).IsZero() {
			t.Fatalf("field %d of the first plant is zero: give it a value, and read it in scanMember", i)
		}
	}
	for _, want := range []plantapi.StoredPlants{plants, {}} {
		page := httptest.NewRecorder()
		if err := plantserver.WriteJSON(page, 200, &want); err != nil {
			t.Fatal(err)
		}
		got, ok := decodePlants(page.Body.Bytes())
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("decodePlants(%q) = %t and differs:\n%s", page.Body, ok, diff)
		}
	}
}

// If decodePlants decodes a text, encoding/json gives the same plants.
func FuzzDecodePlants(f *testing.F) {
	const plant = `{"id":%s,"name":%s,"tag":"","etag":"a","created_at":"2026-11-20T09:00:00.000001Z","updated_at":%s}`
	for _, member := range [][3]string{
		{`1`, `"a"`, `"2026-11-20T09:00:00Z"`},
		{`-0`, `"\u0041\ud83c\udf31\/"`, `"2026-11-20T09:00:00+01:00"`},
		{`01`, `"\ud800"`, `"2026-11-20t09:00:00z"`},
		{`-01`, `"\x"`, `"2026-11-20T9:00:00Z"`},
		{`1.0`, `"` + "\xff" + `"`, `"2026-11-20T09:00:00,1Z"`},
		{`1e2`, `"` + "\n" + `"`, `null`},
		{`9223372036854775808`, `1`, `"\u0032026-11-20T09:00:00Z"`},
		{`--1`, `null`, `""`},
		{``, `"\"`, `"`},
		{`1,"ID":2`, `"a","species":"b"`, `"2026-11-20T09:00:00Z","id":3`},
	} {
		f.Add(fmt.Appendf(nil, "["+plant+"]", member[0], `"a"`, `"2026-11-20T09:00:00Z"`))
		f.Add(fmt.Appendf(nil, "["+plant+"]", `1`, member[1], `"2026-11-20T09:00:00Z"`))
		f.Add(fmt.Appendf(nil, "["+plant+"]", `1`, `"a"`, member[2]))
	}
	for _, text := range []string{"", "null", "[", "[]", "[]\n", "[]\n\n", "[{}]", "[{},{}]", "[{},]", "[{}}", "[{}]]", "[ ]", "{}", `[{"id":1,}]`, `[{"id"1}]`, `["id":1]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := decodePlants(text)
		if !ok {
			return
		}
		var want plantapi.StoredPlants
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("decodePlants decodes %q, encoding/json says %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("encoding/json and decodePlants differ at %q:\n%s", text, diff)
		}
	})
}
