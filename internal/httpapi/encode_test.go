package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// Whatever is encoded by hand says what encoding/json would say, with every
// member, those included that the document will gain.
func TestEncodeByHand(t *testing.T) {
	t.Run("Plant", saysTheSame(appendPlant))
	t.Run("StoredPlant", saysTheSame(appendStoredPlant))
	t.Run("StoredPlants", saysTheSame(func(b []byte, plants *plantapi.StoredPlants) []byte {
		*plants = append(plantapi.StoredPlants{}, *plants...) // never null
		return appendStoredPlants(b, *plants)
	}))
}

func saysTheSame[T any](encode func([]byte, *T) []byte) func(*testing.T) {
	times := rapid.Custom(func(t *rapid.T) any {
		return time.UnixMicro(rapid.Int64Range(0, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).UnixMicro()).Draw(t, "µs")).UTC()
	})
	values := rapid.MakeCustom[T](rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{reflect.TypeFor[time.Time](): times}})
	return func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			v := values.Draw(t, "value")
			got := encode([]byte("what stands before"), &v)
			got, ok := bytes.CutPrefix(got, []byte("what stands before"))
			if !ok {
				t.Fatalf("encoded is %s", got)
			}
			want, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(meaning(t, want), meaning(t, got), sameTimes); diff != "" {
				t.Errorf("%s does not say what %s says:\n%s", got, want, diff)
			}
		})
	}
}

// sameTimes compares times that are written with more or with fewer zeros.
var sameTimes = cmp.Comparer(func(a, b string) bool {
	t, errA := time.Parse(time.RFC3339, a)
	u, errB := time.Parse(time.RFC3339, b)
	return a == b || errA == nil && errB == nil && t.Equal(u)
})

// meaning decodes JSON without loss.
func meaning(t *rapid.T, text []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// Every text comes through, and nothing is escaped that need not be.
func TestEncodeText(t *testing.T) {
	const text = "\x00\b\f\n\r\t\x1f\"\\/<&>\u007f\u2028é🌵"
	const want = `"\u0000\b\f\n\r\t\u001f\"\\/<&>` + "\u007f\u2028é🌵" + `"`
	if got := string(appendString(nil, text)); got != want {
		t.Errorf("encoded as %s, want %s", got, want)
	}
	var decoded string
	if err := json.Unmarshal([]byte(want), &decoded); err != nil || decoded != text {
		t.Errorf("decoded as %q, %v", decoded, err)
	}
}
