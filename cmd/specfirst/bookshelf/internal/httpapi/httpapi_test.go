package httpapi_test

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"

	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/api"
	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/internal/httpapi"
	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/internal/operations"
)

const secret = "a-secret-of-tests"

// credentials are what a request has for the security of the document.
var credentials = http.Header{"Authorization": {"Bearer " + secret}}

// newHandler returns the service with an empty store.
func newHandler(t *testing.T) http.Handler {
	t.Helper()
	service, store, err := operations.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	handler, err := httpapi.New(service, httpapi.Options{
		Tokens:   &httpapi.Tokens{Secret: secret},
		Statuses: operations.Statuses,
		Healthy:  store.Healthy,
		Log:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// The contract test fails for each response that the document does not allow, and for each operation that is
// not written yet.
func TestContract(t *testing.T) {
	contracttest.Test(t, api.Document, newHandler(t), contracttest.Options{
		Header:  credentials,
		Service: contracttest.Service{Rules: contracttest.Rules{NotWritten: http.StatusNotImplemented}},
	})
}
