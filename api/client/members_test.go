package client_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// written are the names of the fields that a program writes: those of a new plant,
// without the id.
func written(t *testing.T) (names []string) {
	t.Helper()
	for f := range reflect.TypeFor[plantapi.NewPlant]().Fields() {
		if f.Name != "ID" {
			names = append(names, f.Name)
		}
	}
	return names
}

// set sets a text, or an optional text, of a plant or of a patch.
func set(t *testing.T, plantOrPatch any, name, text string) {
	t.Helper()
	switch field := reflect.ValueOf(plantOrPatch).Elem().FieldByName(name); {
	case !field.IsValid():
		t.Fatalf("%T has no field %s (api/client/plant.go)", plantOrPatch, name)
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.ValueOf(&text))
	default:
		field.SetString(text)
	}
}

// full returns a plant with every field that a program writes.
func full(t *testing.T, id int64, text string) client.Plant {
	t.Helper()
	p := client.Plant{ID: id}
	for _, name := range written(t) {
		set(t, &p, name, name+text)
	}
	return p
}

// Every member of a plant comes back as it was sent, and every change of one member
// is written. A member that is added to the document and forgotten in the client
// fails here.
func TestEveryMember(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[plantapi.StoredPlant]().Fields() {
		field, ok := reflect.TypeFor[client.Plant]().FieldByName(f.Name)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !ok || !strings.HasPrefix(field.Tag.Get("json")+",", name+",") {
			t.Errorf("client.Plant has no field %s whose JSON is %s (api/client/plant.go)", f.Name, name)
		}
	}
	ctx, c := t.Context(), clienttest.New(t).Client()
	want := func(how string, want client.Plant) {
		t.Helper()
		got, err := c.Get(ctx, want.ID)
		must.NoError(t, err)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(client.Plant{}, "ETag", "CreatedAt", "UpdatedAt", "ChangedBy")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", how, diff)
		}
	}
	check := func(_ any, err error) {
		t.Helper()
		must.NoError(t, err)
	}
	check(nil, c.Create(ctx, full(t, 1, "")))
	want("Create (newPlant in api/client/plant.go)", full(t, 1, ""))
	check(c.CreateBatch(ctx, []client.Plant{full(t, 2, "")}))
	want("CreateBatch", full(t, 2, ""))
	check(c.Put(ctx, full(t, 3, "")))
	want("Put (content in api/client/plant.go)", full(t, 3, ""))
	for _, name := range written(t) {
		changed := full(t, 3, "")
		set(t, &changed, name, "changed")
		var patch client.Patch
		set(t, &patch, name, "changed")
		check(c.Patch(ctx, 3, patch))
		want("Patch of "+name+" (body in api/client/plant.go)", changed)
		check(c.Update(ctx, 3, func(p *client.Plant) error { *p = full(t, 3, ""); return nil }))
		want("Update of "+name+" (change in api/client/plant.go)", full(t, 3, ""))

		if removed := reflect.ValueOf(&changed).Elem().FieldByName(name); removed.Kind() == reflect.Pointer {
			removed.SetZero()
			check(c.Update(ctx, 3, func(p *client.Plant) error { *p = changed; return nil }))
			want("Update that removes "+name+" (change in api/client/plant.go)", changed)
			check(c.Put(ctx, full(t, 3, "")))
			patch = client.Patch{}
			reflect.ValueOf(&patch).Elem().FieldByName("Remove" + name).SetBool(true)
			check(c.Patch(ctx, 3, patch))
			want("Patch that removes "+name+" (body in api/client/plant.go)", changed)
			check(c.Put(ctx, full(t, 3, "")))

			set(t, &patch, name, "")
			_, err := c.Patch(ctx, 3, patch)
			expect.Message(t, "a patch that sets and removes "+name, err, "both set and remove")
			// A change through the pointer that Update passes on.
			check(c.Update(ctx, 3, func(p *client.Plant) error {
				reflect.ValueOf(p).Elem().FieldByName(name).Elem().SetString("changed")
				return nil
			}))
			set(t, &changed, name, "changed")
			want("Update through the pointer "+name+" (clone in api/client/plant.go)", changed)
			check(c.Put(ctx, full(t, 3, "")))
		}

		broken := full(t, 4, "")
		set(t, &broken, name, "\xff")
		patch = client.Patch{}
		set(t, &patch, name, "\xff")
		_, batchErr := c.CreateBatch(ctx, []client.Plant{broken})
		_, putErr := c.Put(ctx, broken)
		_, patchErr := c.Patch(ctx, 3, patch)
		for call, err := range map[string]error{"Create": c.Create(ctx, broken), "CreateBatch": batchErr, "Put": putErr, "Patch": patchErr} {
			if err == nil || !strings.Contains(err.Error(), "is not valid UTF-8") {
				t.Errorf("%s with a %s that is not UTF-8: %v", call, name, err)
			}
		}
	}
}
