package httpapi_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
)

func readOnly(o *httpapi.Options) { o.ReadOnly = true }

// A read-only service refuses every operation that the document gives the scope
// write, before it reads anything of the body, and no other.
func TestReadOnly(t *testing.T) {
	writes := newService(t, offline)
	log := new(bytes.Buffer)
	handler := newService(t, offline, withStore(writes.store), withLog(log), withOptions(readOnly)).handler
	refused := 0
	forEachOperation(t, func(t *testing.T, method, path string) {
		c := addressOf(t, handler)
		c.send(method, path, "nonsense").wantError(t, plantapi.CodeBadCredentials)
		a := c.send(method, path, staticToken)
		if method == http.MethodGet {
			if a.StatusCode == http.StatusServiceUnavailable {
				t.Errorf("a read is refused: %s", a.body)
			}
			return
		}
		refused++
		if e := a.wantError(t, plantapi.CodeUnavailable); !strings.Contains(e.Message, "the service is read-only for now") {
			t.Errorf("the message is %q", e.Message)
		}
		if got := a.Header.Get("Retry-After"); got != "5" {
			t.Errorf("Retry-After is %q, want 5", got)
		}
	})
	if refused < 5 {
		t.Errorf("%d operations are refused, want at least 5", refused)
	}
	if log.Len() > 0 {
		t.Errorf("the operator knows it, and the log has:\n%s", log)
	}
}

// A complete write to a read-only service changes nothing, and is logged if all
// requests are.
func TestReadOnlyChangesNothing(t *testing.T) {
	log := new(bytes.Buffer)
	s := newService(t, withLog(log), withOptions(readOnly), withOptions(func(o *httpapi.Options) { o.LogAll = true }))
	s.post(`{"id":1,"name":"n"}`).wantError(t, plantapi.CodeUnavailable)
	s.call(http.MethodPut, "/plants/1", `{"name":"n"}`).wantError(t, plantapi.CodeUnavailable)
	s.wantNone(1)
	if got := strings.Count(log.String(), `"error":50300`); got != 2 {
		t.Errorf("the log has %d of the 2 requests:\n%s", got, log)
	}
}
