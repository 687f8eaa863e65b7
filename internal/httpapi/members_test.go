package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/api"
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
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	writable, readOnly := membersOf(t, doc)
	sent := map[int64]members{}
	text := func(id int64, version int) string {
		sent[id] = members{}
		for name, member := range doc.Components.Schemas["StoredPlant"].Value.Properties {
			sent[id][name] = valueOf(t, name, member.Value, version)
		}
		sent[id]["id"] = float64(id)
		body, err := json.Marshal(sent[id])
		must.NoError(t, err)
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
		must.NoError(t, transfer.Download(t.Context(), transferService(t, s), w, func(int) {}))
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
func membersOf(t *testing.T, doc *openapi3.T) (writable, readOnly []string) {
	t.Helper()
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

// valueOf returns the value of a member, another one for each version, so that no two members are equal.
func valueOf(t *testing.T, name string, schema *openapi3.Schema, version int) any {
	t.Helper()
	switch {
	case schema.Format == "date-time":
		return fmt.Sprintf("200%d-01-01T00:00:00Z", version)
	case schema.Enum != nil:
		return schema.Enum[version-1]
	case schema.Type.Is("string"):
		return fmt.Sprint(name, " ", version)
	case schema.Type.Is("integer"):
		return float64(version)
	case schema.Type.Is("boolean"):
		return version%2 == 1
	}
	t.Fatalf("valueOf does not know the type of %s", name)
	return nil
}
