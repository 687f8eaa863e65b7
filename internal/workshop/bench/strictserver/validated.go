package strictserver

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	middleware "github.com/oapi-codegen/nethttp-middleware"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/internal/workshop/bench/peer"
)

// NewValidated is New behind oapi-codegen's own validator, which also checks the credentials.
func NewValidated(plants Creator) (http.Handler, error) {
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // otherwise only the host of the document is accepted
	return New(plants, middleware.OapiRequestValidatorWithOptions(doc, &middleware.Options{
		Options: openapi3filter.Options{AuthenticationFunc: authenticate},
	})), nil
}

func authenticate(_ context.Context, input *openapi3filter.AuthenticationInput) error {
	token, _ := strings.CutPrefix(input.RequestValidationInput.Request.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(token), []byte(peer.Token)) != 1 {
		return errors.New("credentials not valid")
	}
	return nil
}
