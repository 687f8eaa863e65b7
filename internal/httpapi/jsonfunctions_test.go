package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oapi-codegen/nullable"
	"pgregory.net/rapid"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// The generated functions write what encoding/json reads, for every schema of a
// response and every member of it.
func TestJSONFunctions(t *testing.T) {
	t.Run("Change", roundTrip[plantapi.Change])
	t.Run("Changes", roundTrip[plantapi.Changes])
	t.Run("Error", roundTrip[plantapi.Error])
	t.Run("ErrorDetail", roundTrip[plantapi.ErrorDetail])
	t.Run("Plant", roundTrip[plantapi.Plant])
	t.Run("Plants", roundTrip[plantapi.Plants])
	t.Run("StoredPlant", roundTrip[plantapi.StoredPlant])
	t.Run("StoredPlants", roundTrip[plantapi.StoredPlants])
}

func roundTrip[T any](t *testing.T) {
	types := map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[time.Time](): rapid.Custom(func(t *rapid.T) any {
			return time.UnixMicro(rapid.Int64Range(0, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).UnixMicro()).Draw(t, "µs")).UTC()
		}),
	}
	values := rapid.MakeCustom[T](rapid.MakeConfig{Types: types})
	rapid.Check(t, func(t *rapid.T) {
		sent := values.Draw(t, "sent")
		w := httptest.NewRecorder()
		if err := plantserver.WriteJSON(w, http.StatusOK, &sent); err != nil {
			t.Fatal(err)
		}
		text := w.Body.Bytes()
		var read T
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(sent, read, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("encoding/json reads %s as (-want +got):\n%s", text, diff)
		}
	})
}

// A checked body is bound to what encoding/json reads, for every schema of a request, and
// without the memory of the text, which the next body overwrites.
func TestReadJSON(t *testing.T) {
	t.Run("NewPlant", binds[plantapi.NewPlant])
	t.Run("NewPlants", binds[plantapi.NewPlants])
	t.Run("Plant", binds[plantapi.Plant])
	t.Run("PlantPatch", binds[plantapi.PlantPatch])
}

func binds[T any](t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	schema := doc.Components.Schemas[reflect.TypeFor[T]().Name()].Value
	types := map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[nullable.Nullable[string]](): rapid.OneOf(
			rapid.Just[any](nullable.Nullable[string](nil)),
			rapid.Just[any](nullable.NewNullNullable[string]()),
			rapid.Custom(func(t *rapid.T) any { return nullable.NewNullableWithValue(rapid.String().Draw(t, "value")) })),
	}
	values := rapid.MakeCustom[T](rapid.MakeConfig{Types: types})
	var body checkedBody // as from the pool
	rapid.Check(t, func(t *rapid.T) {
		sent := values.Draw(t, "sent")
		text, err := jsonv2.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		if body.value, err = body.decode(text, schema); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var want, got T
		if err := errors.Join(json.Unmarshal(text, &want), plantserver.ReadJSON(&body, &got)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		clear(text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("bound are (-want +got):\n%s", diff)
		}
	})
}

// Text is escaped only where JSON requires it.
func TestEscapes(t *testing.T) {
	const name = "\x00\b\f\n\r\t\x1f\"\\/<&>\u007f\u2028é🌵"
	const want = `{"name":"\u0000\b\f\n\r\t\u001f\"\\/<&>` + "\u007f\u2028é🌵" + "\"}\n"
	w := httptest.NewRecorder()
	if err := plantserver.WriteJSON(w, http.StatusOK, &plantapi.Plant{Name: name}); err != nil {
		t.Fatal(err)
	}
	if got := w.Body.String(); got != want {
		t.Errorf("encoded as %s, want %s", got, want)
	}
}
