package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/oapi-codegen/nullable"
	"pgregory.net/rapid"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
)

// The generated functions write what encoding/json reads, and read what they
// wrote, for every schema and every member of it.
func TestJSONFunctions(t *testing.T) {
	t.Run("Change", roundTrip[plantapi.Change])
	t.Run("Changes", roundTrip[plantapi.Changes])
	t.Run("Error", roundTrip[plantapi.Error])
	t.Run("ErrorDetail", roundTrip[plantapi.ErrorDetail])
	t.Run("NewPlant", roundTrip[plantapi.NewPlant])
	t.Run("NewPlants", roundTrip[plantapi.NewPlants])
	t.Run("Plant", roundTrip[plantapi.Plant])
	t.Run("PlantPatch", roundTrip[plantapi.PlantPatch])
	t.Run("Plants", roundTrip[plantapi.Plants])
	t.Run("StoredPlant", roundTrip[plantapi.StoredPlant])
	t.Run("StoredPlants", roundTrip[plantapi.StoredPlants])
}

func roundTrip[T any](t *testing.T) {
	types := map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[time.Time](): rapid.Custom(func(t *rapid.T) any {
			return time.UnixMicro(rapid.Int64Range(0, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).UnixMicro()).Draw(t, "µs")).UTC()
		}),
		reflect.TypeFor[nullable.Nullable[string]](): rapid.OneOf(
			rapid.Just[any](nullable.Nullable[string](nil)),
			rapid.Just[any](nullable.NewNullNullable[string]()),
			rapid.Custom(func(t *rapid.T) any { return nullable.NewNullableWithValue(rapid.String().Draw(t, "value")) })),
	}
	values := rapid.MakeCustom[T](rapid.MakeConfig{Types: types})
	rapid.Check(t, func(t *rapid.T) {
		sent := values.Draw(t, "sent")
		w := httptest.NewRecorder()
		if err := plantserver.WriteJSON(w, http.StatusOK, &sent); err != nil {
			t.Fatal(err)
		}
		text := w.Body.Bytes()
		var read, bound T
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(sent, read, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("encoding/json reads %s as (-want +got):\n%s", text, diff)
		}
		value, err := new(decoder).decode(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := plantserver.BindJSON(value, &bound); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(sent, bound, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s is bound as (-want +got):\n%s", text, diff)
		}
	})
}

// A value of another type than the schema's is an error, not a zero value.
func TestBindMismatch(t *testing.T) {
	for body, into := range map[string]any{
		`[]`:                       new(plantapi.NewPlant),
		`{"id":"1","name":"n"}`:    new(plantapi.NewPlant),
		`{"id":1.0,"name":"n"}`:    new(plantapi.NewPlant),
		`{"id":1,"name":null}`:     new(plantapi.NewPlant),
		`{"plants":{}}`:            new(plantapi.NewPlants),
		`{"plants":[{"name":1}]}`:  new(plantapi.NewPlants),
		`{"created":2147483648}`:   new(plantapi.Plants),
		`{"created_at":"today"}`:   new(plantapi.StoredPlant),
		`{"tag":1}`:                new(plantapi.PlantPatch),
		`{"name":"n","tag":false}`: new(plantapi.Plant),
	} {
		value, err := new(decoder).decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := plantserver.BindJSON(value, into); err == nil {
			t.Errorf("%s is bound as %T", body, into)
		}
	}
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

// A bound body shares no memory with the next body of the same decoder.
func TestBodiesShareNoMemory(t *testing.T) {
	var decoder decoder
	var kept []plantapi.NewPlant
	for _, body := range []string{
		`{"id":1,"name":"Ficus lyrata","tag":"Moraceae","more":[{}]}`,
		`{"id":2,"name":"Ginkgo \u0062iloba"}`,
		`{"id":3,"name":"","tag":""}`,
	} {
		text := []byte(body)
		value, err := decoder.decode(text)
		if err != nil {
			t.Fatal(err)
		}
		var p plantapi.NewPlant
		if err := plantserver.BindJSON(value, &p); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, p)
		clear(text) // as the next body would
	}
	want := []plantapi.NewPlant{
		{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")},
		{ID: 2, Name: "Ginkgo biloba"},
		{ID: 3, Tag: new("")},
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("bound are (-want +got):\n%s", diff)
	}
}
