package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Text is escaped only where JSON requires it.
func TestEscapes(t *testing.T) {
	const name = "\x00\b\f\n\r\t\x1f\"\\/<&>\u007f\u2028é🌵"
	const want = `{"name":"\u0000\b\f\n\r\t\u001f\"\\/<&>` + "\u007f\u2028é🌵" + "\"}\n"
	w := httptest.NewRecorder()
	must.NoError(t, writeJSON(w, http.StatusOK, &plantapi.Plant{Name: name}))
	if got := w.Body.String(); got != want {
		t.Errorf("encoded as %s, want %s", got, want)
	}
}

// A time has six digits after the seconds, zeros too.
func TestTimestampFormat(t *testing.T) {
	w, second := httptest.NewRecorder(), time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	must.NoError(t, writeJSON(w, http.StatusOK, &plantapi.StoredPlant{CreatedAt: second, UpdatedAt: second}))
	if got := w.Body.String(); strings.Count(got, `_at":"2026-11-20T09:00:00.000000Z"`) != 2 {
		t.Errorf("got %s", got)
	}
}
