package httpapi_test

import (
	"strings"
	"testing"

	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/internal/httpapi"
)

// The document asks for credentials, so a service that accepts none does not start.
func TestNoTokens(t *testing.T) {
	_, err := httpapi.New(nil, httpapi.Options{Tokens: &httpapi.Tokens{}})
	if err == nil || !strings.Contains(err.Error(), "set BOOKSHELF_TOKEN or BOOKSHELF_KEYS_URL") {
		t.Errorf("the error is %v", err)
	}
}
