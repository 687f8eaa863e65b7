package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// silent has no response.
type silent struct {
	plantserver.StrictServerInterface
}

func (silent) GetPlant(context.Context, plantserver.GetPlantRequestObject) (plantserver.GetPlantResponseObject, error) {
	return nil, nil
}

// errorOfSilent returns the error with which a request to silent fails behind middlewares.
func errorOfSilent(t *testing.T, middlewares ...func(http.Handler) http.Handler) (got error) {
	t.Helper()
	admission := newAdmission(&Options{})
	strict := plantserver.NewStrictHandlerWithOptions(silent{}, []plantserver.StrictMiddlewareFunc{admission.work}, plantserver.StrictHTTPServerOptions{
		ResponseErrorHandlerFunc: func(_ http.ResponseWriter, _ *http.Request, err error) { got = err },
	})
	router := chi.NewRouter()
	router.Use(middlewares...)
	plantserver.HandlerFromMux(strict, router)
	router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/plants/1", nil))
	return got
}

// A handler that returns neither a response nor an error does not cause an empty 200.
func TestHandlerWithoutResponse(t *testing.T) {
	checker, err := contract.New(api.Document, contract.Options{
		BeforeRouter: true,
		Authorize: func(_ http.ResponseWriter, r *http.Request, _ *contract.Operation) (context.Context, error) {
			return &scope{Context: r.Context(), values: r.Context()}, nil
		},
	})
	must.NoError(t, err)
	if got := errorOfSilent(t, checker.Middleware); got == nil || !strings.Contains(got.Error(), "GetPlant") {
		t.Errorf("a missing response is not an error: %v", got)
	}
}

// A request that package contract has not checked does not get to a handler.
func TestUncheckedRequest(t *testing.T) {
	if got := errorOfSilent(t); got != contract.ErrUnchecked {
		t.Errorf("an unchecked request gets %v, want %v", got, contract.ErrUnchecked)
	}
}
