package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	s := newService(t)
	for _, c := range []struct {
		method, path string
		want         plantapi.ErrorCode // 0: 204
		allow        string
	}{
		{"GET", "/plant", plantapi.CodeNoSuchPath, ""},
		{"GET", "/plants/1/2", plantapi.CodeNoSuchPath, ""},
		{"POST", "//plants", plantapi.CodeNoSuchPath, ""},
		{"POST", "/Plants", plantapi.CodeNoSuchPath, ""},
		{"GET", "/plants%2F1", plantapi.CodeNoSuchPath, ""},
		{"POST", "/plants%3Abatch", plantapi.CodeNoSuchPath, ""},
		{"post", "/plants", plantapi.CodeMethodNotAllowed, "GET, HEAD, POST, OPTIONS"},
		{"POST", "/plants/1", plantapi.CodeMethodNotAllowed, "DELETE, GET, HEAD, PATCH, PUT, OPTIONS"},
		{"POST", "/plants/..", plantapi.CodeMethodNotAllowed, "DELETE, GET, HEAD, PATCH, PUT, OPTIONS"},
		{"POST", "/plants/a%2Fb", plantapi.CodeMethodNotAllowed, "DELETE, GET, HEAD, PATCH, PUT, OPTIONS"},
		{"GET", "/plants:batch", plantapi.CodeMethodNotAllowed, "POST, OPTIONS"},
		{"POST", "/", plantapi.CodeMethodNotAllowed, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/", 0, "GET, HEAD, OPTIONS"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			a := s.with(t).send(c.method, c.path, "")
			if c.want != 0 && c.method == http.MethodHead {
				if a.StatusCode != int(c.want)/100 || a.body != "" {
					t.Errorf("got %s %s, want %d without a body", a.Status, a.body, c.want/100)
				}
			} else if c.want != 0 {
				a.wantError(t, c.want)
			} else if a.StatusCode != http.StatusNoContent || a.body != "" {
				t.Errorf("got %s %s, want 204", a.Status, a.body)
			}
			if got := a.Header.Values("Allow"); fmt.Sprint(got) != fmt.Sprint(list(c.allow)) {
				t.Errorf("Allow is %q, want %q", got, c.allow)
			}
		})
	}
}

func TestOptionsAsterisk(t *testing.T) {
	if a := newService(t).speak("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", false); a.StatusCode != http.StatusNoContent || a.Header.Get("Allow") != "DELETE, GET, HEAD, PATCH, POST, PUT, OPTIONS" {
		t.Errorf("got %s with Allow %q", a.Status, a.Header.Get("Allow"))
	}
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
