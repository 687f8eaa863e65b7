package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Text is escaped only where JSON requires it.
func TestEscapes(t *testing.T) {
	const name = "\x00\b\f\n\r\t\x1f\"\\/<&>\u007f\u2028é🌵"
	const want = `{"name":"\u0000\b\f\n\r\t\u001f\"\\/<&>` + "\u007f\u2028é🌵" + "\"}\n"
	w := httptest.NewRecorder()
	must.NoError(t, plantserver.WriteJSON(w, http.StatusOK, &plantapi.Plant{Name: name}))
	if got := w.Body.String(); got != want {
		t.Errorf("encoded as %s, want %s", got, want)
	}
}
