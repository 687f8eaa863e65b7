package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
)

// A handler that returns neither a response nor an error does not cause an empty 200.
func TestHandlerWithoutResponse(t *testing.T) {
	var got error
	strict := plantserver.NewStrictHandlerWithOptions(new(noter), plantserver.StrictHTTPServerOptions{
		ResponseErrorHandlerFunc: func(_ http.ResponseWriter, _ *http.Request, err error) { got = err },
	})
	strict.GetPlant(nil, new(http.Request), 1, plantapi.GetPlantParams{})
	if got == nil || !strings.Contains(got.Error(), "GetPlant") {
		t.Errorf("a missing response is not an error: %v", got)
	}
}

// The generated code also binds requests that were not checked before, as in the tests
// of another service.
func TestGeneratedServerWithoutValidator(t *testing.T) {
	server := new(noter)
	handler := plantserver.Handler(plantserver.NewStrictHandler(server))
	for _, c := range []struct {
		method, target, body string
		want                 any
	}{
		{"GET", "/plants?limit=2&after=-1&tag=a%20b", "", plantserver.ListPlantsRequestObject{
			Params: plantapi.ListPlantsParams{Limit: new(int32(2)), After: new(int64(-1)), Tag: new("a b")},
		}},
		{"GET", "/plants", "", plantserver.ListPlantsRequestObject{}},
		{"GET", "/plants/-7", "", plantserver.GetPlantRequestObject{ID: -7}},
		{"POST", "/plants", `{"id":1,"name":"n"}`, plantserver.CreatePlantRequestObject{Body: &plantapi.NewPlant{ID: 1, Name: "n"}}},
		{"GET", "/plants/seven", "", nil},
		{"GET", "/plants?limit=3000000000", "", nil},
		{"POST", "/plants", `{"id":1,"ID":2,"name":"n"}`, plantserver.CreatePlantRequestObject{Body: &plantapi.NewPlant{ID: 1, Name: "n"}}},
		{"POST", "/plants", `{"id":"one"}`, nil},
		{"POST", "/plants", `{"id":1,"id":2,"name":"n"}`, nil},
	} {
		server.request = nil
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), c.method, c.target, strings.NewReader(c.body)))
		if diff := cmp.Diff(c.want, server.request); diff != "" {
			t.Errorf("%s %s is bound as (-want +got):\n%s", c.method, c.target, diff)
		}
	}
}

// noter keeps each request and returns no response.
type noter struct {
	plantserver.StrictServerInterface
	request any
}

func (n *noter) CreatePlant(_ context.Context, request plantserver.CreatePlantRequestObject) (plantserver.CreatePlantResponseObject, error) {
	n.request = request
	return nil, nil
}

func (n *noter) GetPlant(_ context.Context, request plantserver.GetPlantRequestObject) (plantserver.GetPlantResponseObject, error) {
	n.request = request
	return nil, nil
}

func (n *noter) ListPlants(_ context.Context, request plantserver.ListPlantsRequestObject) (plantserver.ListPlantsResponseObject, error) {
	n.request = request
	return nil, nil
}
