package judge

import (
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Crashes have one root if their messages say what has failed, whatever the request was. What any failure says is no root.
func TestMessageOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, mediaType, body, want string }{
		{"/pots/7", "application/json", `{"error":"Internal Server Error"}`, ""},
		{"/pots/7", "application/json", `{"detail":"An unexpected error has occurred. Please try again later."}`, ""},
		{"/pots/7", "text/plain; charset=utf-8", "Internal Server Error\n", ""},
		{"/pots/7", "text/html", "<h1>no such table: pots</h1>", ""},
		{"/pots/7", "application/json", "", ""},
		{"/pots/7", "application/json", `{"status":500,"error":"Internal Server Error","path":"/api/pots/7","time":"2026-11-29T10:00:00Z"}`, ""},
		{"/pots/7", "application/json", `{"message":"Unknown DICOM tag","code":27,"uri":"/pots/7","method":"GET"}`, "Unknown DICOM tag"},
		{"/plants/9/parts", "application/json", `{"message":"Unknown DICOM tag","code":27,"uri":"/plants/9/parts","method":"GET"}`, "Unknown DICOM tag"},
		{"/pots/7", "text/plain", "UNIQUE constraint failed: name of 7", "UNIQUE constraint failed name"},
		{"/pots/8", "text/plain", "UNIQUE constraint failed: name of 8", "UNIQUE constraint failed name"},
	} {
		x := scenario.Interaction{Method: http.MethodGet, Path: c.path}
		x.Receive(http.StatusInternalServerError, http.Header{"Content-Type": {c.mediaType}}, []byte(c.body))
		if got := messageOf(x); got != c.want {
			t.Errorf("the message of %q at %s is %q, want %q", c.body, c.path, got, c.want)
		}
	}
}
