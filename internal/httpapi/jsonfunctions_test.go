package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oapi-codegen/nullable"
	"pgregory.net/rapid"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
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
func TestBoundBodies(t *testing.T) {
	t.Run("createPlant", func(t *testing.T) { binds[plantapi.NewPlant](t, "POST", "/plants", "application/json") })
	t.Run("createPlants", func(t *testing.T) { binds[plantapi.NewPlants](t, "POST", "/plants:batch", "application/json") })
	t.Run("putPlant", func(t *testing.T) { binds[plantapi.Plant](t, "PUT", "/plants/1", "application/json") })
	t.Run("patchPlant", func(t *testing.T) {
		binds[plantapi.PlantPatch](t, "PATCH", "/plants/1", "application/merge-patch+json")
	})
}

func binds[T any](t *testing.T, method, path, mediaType string) {
	server := new(noter)
	handler := checked(t, plantserver.NewStrictHandler(server))
	types := map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[nullable.Nullable[string]](): rapid.OneOf(
			rapid.Just[any](nullable.Nullable[string](nil)),
			rapid.Just[any](nullable.NewNullNullable[string]()),
			rapid.Custom(func(t *rapid.T) any { return nullable.NewNullableWithValue(rapid.StringN(0, 256, -1).Draw(t, "value")) })),
		reflect.TypeFor[string](): rapid.Custom(func(t *rapid.T) any { return rapid.StringN(0, 256, -1).Draw(t, "text") }),
	}
	values := rapid.MakeCustom[T](rapid.MakeConfig{Types: types})
	rapid.Check(t, func(t *rapid.T) {
		sent := values.Draw(t, "sent")
		text, err := jsonv2.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) == `{"plants":[]}` {
			return // the document forbids it
		}
		var want T
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r := httptest.NewRequest(method, path, bytes.NewReader(text))
		r.Header.Set("Content-Type", mediaType)
		w := httptest.NewRecorder()
		server.body = nil
		handler.ServeHTTP(w, r)
		clear(text)
		got, ok := server.body.(*T)
		if !ok {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		if diff := cmp.Diff(want, *got); diff != "" {
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
