package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// Paths and methods are those of the document to the letter. The generated requests have paths
// that differ from them in more.
func TestSimilarPathsAndMethods(t *testing.T) {
	s := newService(t)
	for call, want := range map[string]plantapi.ErrorCode{
		"GET /plants/1/2":      plantapi.CodeNoSuchPath,
		"POST //plants":        plantapi.CodeNoSuchPath,
		"POST /Plants":         plantapi.CodeNoSuchPath,
		"GET /plants%2F1":      plantapi.CodeNoSuchPath,
		"POST /plants%3Abatch": plantapi.CodeNoSuchPath,
		"post /plants":         plantapi.CodeMethodNotAllowed,
		"POST /plants/..":      plantapi.CodeMethodNotAllowed,
		"POST /plants/a%2Fb":   plantapi.CodeMethodNotAllowed,
	} {
		method, path, _ := strings.Cut(call, " ")
		t.Run(call, func(t *testing.T) { s.with(t).send(method, path, "").wantError(t, want) })
	}
}

// The forms of a request target: RFC 9112, section 3.2.
func TestRequestTargets(t *testing.T) {
	s := newService(t)
	for target, want := range map[string]string{
		"*":               "DELETE, GET, HEAD, PATCH, POST, PUT, OPTIONS",
		"/plants":         "GET, HEAD, POST, OPTIONS",
		"http://x/plants": "GET, HEAD, POST, OPTIONS",
		"http://x":        "GET, HEAD, OPTIONS", // of the page at /
		"x:1":             "GET, HEAD, OPTIONS",
	} {
		response := s.with(t).speakUnheld("OPTIONS "+target+" HTTP/1.1\r\nHost: x\r\n\r\n", false)
		if allow := response.Header.Get("Allow"); response.StatusCode != http.StatusNoContent || allow != want {
			t.Errorf("OPTIONS %s gets %s with Allow %q, want %q", target, response.Status, allow, want)
		}
	}
}
