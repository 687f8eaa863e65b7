package httpapi_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/gen/client"
	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/internal/httpapi"
)

// newClient returns the generated client of the service with an empty store.
func newClient(t *testing.T) *client.ClientWithResponses {
	t.Helper()
	server := httptest.NewServer(newHandler(t))
	t.Cleanup(server.Close)
	service, err := client.NewClientWithResponses(server.URL+httpapi.BasePath, client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		maps.Copy(r.Header, credentials)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return service
}
