package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/testing/must"
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

// The generated code binds what package contract has checked, as in another service, and refuses what it has
// not checked.
func TestGeneratedServer(t *testing.T) {
	server := new(noter)
	var unchecked error
	strict := plantserver.NewStrictHandler(server)
	plantserver.HandlerWithOptions(strict, plantserver.ChiServerOptions{
		ErrorHandlerFunc: func(_ http.ResponseWriter, _ *http.Request, err error) { unchecked = err },
	}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/plants", nil))
	if unchecked != contract.ErrUnchecked || server.request != nil {
		t.Errorf("an unchecked request gets %v, want %v", unchecked, contract.ErrUnchecked)
	}
	handler := checked(t, strict)
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
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.target, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(httptest.NewRecorder(), r)
		if diff := cmp.Diff(c.want, server.request); diff != "" {
			t.Errorf("%s %s is bound as (-want +got):\n%s", c.method, c.target, diff)
		}
	}
}

// checked returns handlers behind package contract, without credentials.
func checked(t *testing.T, handlers plantserver.ServerInterface) http.Handler {
	t.Helper()
	checker, err := contract.New(api.Document, contract.Options{
		Authorize: func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
			return nil, nil
		},
	})
	must.NoError(t, err)
	router := chi.NewRouter()
	router.Group(func(r chi.Router) {
		r.Use(checker.Middleware)
		plantserver.HandlerFromMux(handlers, r)
	})
	return router
}

// noter keeps each request and returns no response.
type noter struct {
	plantserver.StrictServerInterface
	request any
	body    any // of the request
}

func (n *noter) CreatePlant(_ context.Context, request plantserver.CreatePlantRequestObject) (plantserver.CreatePlantResponseObject, error) {
	n.request, n.body = request, request.Body
	return nil, nil
}

func (n *noter) CreatePlants(_ context.Context, request plantserver.CreatePlantsRequestObject) (plantserver.CreatePlantsResponseObject, error) {
	n.body = request.Body
	return nil, nil
}

func (n *noter) PutPlant(_ context.Context, request plantserver.PutPlantRequestObject) (plantserver.PutPlantResponseObject, error) {
	n.body = request.Body
	return nil, nil
}

func (n *noter) PatchPlant(_ context.Context, request plantserver.PatchPlantRequestObject) (plantserver.PatchPlantResponseObject, error) {
	n.body = request.Body
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
