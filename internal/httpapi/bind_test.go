package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// Whatever stands in a body of a type that is bound by hand, every member of it
// arrives, those included that the document will gain.
func TestBindByHand(t *testing.T) {
	t.Run("NewPlant", func(t *testing.T) { rapid.Check(t, arrives[plantapi.NewPlant]) })
	t.Run("NewPlants", func(t *testing.T) { rapid.Check(t, arrives[plantapi.NewPlants]) })
}

func arrives[T any](t *rapid.T) {
	sent := rapid.Make[T]().Draw(t, "sent")
	text, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	value, err := new(decoder).decode(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want, got T
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if !bindPlant(value, &got) {
		t.Fatalf("%T is not bound by hand", got)
	}
	if want, got := orEmpty(want), orEmpty(got); !cmp.Equal(want, got) {
		t.Errorf("%s is bound as\n%s", text, cmp.Diff(want, got))
	}
}

// orEmpty is v with an empty list for none, which the document does not know.
func orEmpty(v any) any {
	if plants, ok := v.(plantapi.NewPlants); ok && plants.Plants == nil {
		plants.Plants = []plantapi.NewPlant{}
		return plants
	}
	return v
}

// What was bound from one body has nothing to do with the next.
func TestDecodedBodiesShareNothing(t *testing.T) {
	var decoder decoder
	var kept []plantapi.NewPlant
	for _, body := range []string{
		`{"id":1,"name":"Ficus lyrata","tag":"Moraceae","more":[{}]}`,
		`{"id":2,"name":"Ginkgo \u0062iloba"}`,
		`{"id":3,"name":"","tag":""}`,
	} {
		text := []byte(body)
		value, err := decoder.decode(text, map[string]string{"id": "id", "name": "name", "tag": "tag"})
		if err != nil {
			t.Fatal(err)
		}
		var p plantapi.NewPlant
		bindPlant(value, &p)
		kept = append(kept, p)
		decoder.takeBack(value)
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
