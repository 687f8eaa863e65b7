package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantserver"
)

// A handler that forgets to answer must not send an empty 200.
func TestForgetfulHandler(t *testing.T) {
	var got error
	strict := plantserver.NewStrictHandlerWithOptions(forgetful{}, plantserver.StrictHTTPServerOptions{
		ErrorHandlerFunc: func(_ http.ResponseWriter, _ *http.Request, err error) { got = err },
	})
	strict.GetPlant(nil, new(http.Request), 1, plantserver.GetPlantRequestObject{}.Params)
	if got == nil || !strings.Contains(got.Error(), "GetPlant") {
		t.Errorf("nothing passed as an answer: %v", got)
	}
}

type forgetful struct {
	plantserver.StrictServerInterface
}

func (forgetful) GetPlant(context.Context, plantserver.GetPlantRequestObject) (plantserver.GetPlantResponseObject, error) {
	return nil, nil
}
