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
