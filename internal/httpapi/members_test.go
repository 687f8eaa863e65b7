package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/transfer"
)

// Every member of a plant comes back as it was sent, whatever way it took. A member
// that is added to the document and forgotten anywhere on the way fails here: the first
// failure names the file.
func TestEveryMember(t *testing.T) {
	s := newService(t)
	writable, readOnly := membersOf(t)
	sent := map[int64]members{}
	text := func(id int64, version int) string {
		var p plantapi.StoredPlant
		fill(t, reflect.ValueOf(&p).Elem(), version)
		p.ID = id
		body, err := json.Marshal(p)
		must.NoError(t, err)
		sent[id] = decode[members](t, string(body))
		return string(body)
	}
	// check compares the members that a response has with those that were sent.
	check := func(how string, id int64, got members, names []string) {
		t.Helper()
		for _, name := range names {
			if diff := cmp.Diff(sent[id][name], got[name]); diff != "" {
				t.Errorf("%s: %s differs (-sent +got):\n%s", how, name, diff)
			}
		}
	}
	var returned []string // by a create, which does not return the id
	for _, name := range writable {
		if name != "id" {
			returned = append(returned, name)
		}
	}

	a := s.post(text(1, 1)).wantStatus(t, http.StatusOK)
	check("create (httpapi/plants.go)", 1, decode[members](t, a.body), returned)

	a = s.call(http.MethodPost, "/plants:batch", `{"plants":[`+text(2, 1)+`]}`).wantStatus(t, http.StatusOK)
	batch := decode[struct{ Plants []members }](t, a.body)
	if len(batch.Plants) != 1 {
		t.Fatalf("the response to a batch is %s", a.body)
	}
	check("batch (httpapi/plants.go)", 2, batch.Plants[0], returned)

	a = s.call(http.MethodPut, "/plants/3", text(3, 1)).wantStatus(t, http.StatusCreated)
	check("put of a new plant (httpapi/plants.go)", 3, decode[members](t, a.body), writable)
	a = s.call(http.MethodPut, "/plants/3", text(3, 2)).wantStatus(t, http.StatusOK)
	check("put (httpapi/plants.go)", 3, decode[members](t, a.body), writable)

	s.post(text(4, 1)).wantStatus(t, http.StatusOK)
	a = s.call(http.MethodPatch, "/plants/4", text(4, 2)).wantStatus(t, http.StatusOK)
	check("patch (httpapi/plants.go, or Apply in plant/plant.go)", 4, decode[members](t, a.body), writable)

	wantStored := func(s *service, how string) {
		t.Helper()
		a := s.call(http.MethodGet, "/plants", "").wantStatus(t, http.StatusOK)
		list := decode[[]members](t, a.body)
		if len(list) != len(sent) {
			t.Fatalf("%s: the list is %s", how, a.body)
		}
		for i, listed := range list {
			id := int64(i + 1)
			got := decode[members](t, s.call(http.MethodGet, fmt.Sprintf("/plants/%d", id), "").wantStatus(t, http.StatusOK).body)
			check(how+", get", id, got, writable)
			for _, name := range readOnly {
				if value := got[name]; value == nil || value == "" {
					t.Errorf("%s, get: %s is %v", how, name, value)
				}
			}
			if diff := cmp.Diff(got, listed); diff != "" {
				t.Errorf("%s: get and list differ:\n%s", how, diff)
			}
		}
	}
	wantStored(s, "writes (plants.go of the engine)")

	for _, format := range []transfer.Format{transfer.CSV, transfer.NDJSON} {
		var file bytes.Buffer
		w := transfer.NewWriter(&file, format)
		if err := transfer.Download(t.Context(), transferService(t, s), w, func(int) {}); err != nil {
			t.Fatal(err)
		}
		imported := newService(t)
		upload := transfer.Upload{
			Service: transferService(t, imported),
			Stored:  func(int) {},
			Refuse:  func(bad transfer.RowError) { t.Errorf("%s: %v", format, bad) },
		}
		_, err := upload.Run(t.Context(), transfer.NewReader(&file, format))
		must.NoError(t, err)
		wantStored(imported, "export and import of "+string(format)+" (transfer/members.go)")
	}

	wantStored(newService(t, withStore(copyStore(t, s.store))), "copy")
}

// copyStore copies a store to a new one of the same engine.
func copyStore(t *testing.T, from store.Store) store.Store {
	t.Helper()
	name := filepath.Join(t.TempDir(), "copy.db")
	if engine() != "sqlite" {
		name = newDSN(t)
	}
	target, err := open.Target(t.Context(), name)
	must.NoError(t, err)
	_, err = transfer.Copy(t.Context(), from, target, func(_ string, _, _ int64) {})
	must.NoError(t, errors.Join(err, target.Close()))
	to, err := open.Open(t.Context(), name)
	return opened(t, to, err)
}

func transferService(t *testing.T, s *service) *transfer.Service {
	t.Helper()
	service, err := transfer.NewService(s.url, staticToken)
	must.NoError(t, err)
	return service
}

type members = map[string]any

// membersOf returns the members of StoredPlant that clients write, and the others.
func membersOf(t *testing.T) (writable, readOnly []string) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	for name, member := range doc.Components.Schemas["StoredPlant"].Value.Properties {
		if member.Value.ReadOnly {
			readOnly = append(readOnly, name)
			continue
		}
		writable = append(writable, name)
		for _, schema := range []string{"Plant", "NewPlant", "PlantPatch"} {
			if name != "id" && doc.Components.Schemas[schema].Value.Properties[name] == nil {
				t.Errorf("%s in api/openapi.yaml has no %s", schema, name)
			}
		}
	}
	return writable, readOnly
}

// fill makes every field different from its zero value, and from its value in
// another version.
func fill(t *testing.T, v reflect.Value, version int) {
	t.Helper()
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2000+version, 1, 1, 0, 0, 0, 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", version))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(version))
	case reflect.Bool:
		v.SetBool(version%2 == 1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), version)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), version)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), version)
			if v.Field(i).Kind() == reflect.String { // so that no two members are equal
				v.Field(i).SetString(v.Type().Field(i).Name + " " + v.Field(i).String())
			}
		}
	default:
		t.Fatalf("fill does not implement %v", v.Type())
	}
}
