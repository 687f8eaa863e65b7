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

func TestOptionsAsterisk(t *testing.T) {
	if a := newService(t).speak("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", false); a.StatusCode != http.StatusNoContent || a.Header.Get("Allow") != "DELETE, GET, HEAD, PATCH, POST, PUT, OPTIONS" {
		t.Errorf("got %s with Allow %q", a.Status, a.Header.Get("Allow"))
	}
}
