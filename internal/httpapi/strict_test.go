package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
)

// silent has no response.
type silent struct {
	plantserver.StrictServerInterface
}

func (silent) GetPlant(context.Context, plantserver.GetPlantRequestObject) (plantserver.GetPlantResponseObject, error) {
	return nil, nil
}

// A handler that returns neither a response nor an error does not cause an empty 200.
func TestHandlerWithoutResponse(t *testing.T) {
	var got error
	strict := plantserver.NewStrictHandlerWithOptions(silent{}, plantserver.StrictHTTPServerOptions{
		ResponseErrorHandlerFunc: func(_ http.ResponseWriter, _ *http.Request, err error) { got = err },
	})
	strict.GetPlant(nil, new(http.Request), 1, plantapi.GetPlantParams{})
	if got == nil || !strings.Contains(got.Error(), "GetPlant") {
		t.Errorf("a missing response is not an error: %v", got)
	}
}

// The generated code refuses a request that package contract has not checked.
func TestUncheckedRequest(t *testing.T) {
	var got error
	plantserver.HandlerWithOptions(plantserver.NewStrictHandler(silent{}), plantserver.ChiServerOptions{
		ErrorHandlerFunc: func(_ http.ResponseWriter, _ *http.Request, err error) { got = err },
	}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/plants", nil))
	if got != contract.ErrUnchecked {
		t.Errorf("an unchecked request gets %v, want %v", got, contract.ErrUnchecked)
	}
}
