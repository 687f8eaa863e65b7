package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Conditions compare weak ETags as RFC 9110, section 13.1, says, and conditions on times are ignored. TestGeneratedRequests
// has the other conditions.
func TestConditions(t *testing.T) {
	s := newService(t)
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	future := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for method, body := range map[string]string{
		"GET": "", "HEAD": "", "PUT": `{"name":"changed"}`, "PATCH": `{"name":"changed"}`, "DELETE": "",
	} {
		for _, c := range []struct {
			header, value string // CURRENT is the ETag
			fails         bool
		}{
			{"If-Match", "W/CURRENT", true},      // compares strongly
			{"If-None-Match", "W/CURRENT", true}, // compares weakly
			{"If-Modified-Since", future, false},
			{"If-Unmodified-Since", past, false},
			{"If-Range", `"other"`, false},
		} {
			s.call(http.MethodPut, "/plants/1", `{"name":"n"}`)
			etag := s.call(http.MethodGet, "/plants/1", "").Header.Get("ETag")
			got := s.call(method, "/plants/1", body, header(c.header, strings.ReplaceAll(c.value, "CURRENT", etag))).StatusCode
			failed := got == http.StatusPreconditionFailed || got == http.StatusNotModified
			if failed != c.fails || !failed && got/100 != 2 {
				t.Errorf("%s with %s: %s = %d", method, c.header, c.value, got)
			}
		}
	}
}

// A list of ETags is read as RFC 9110, section 8.8.3 and section 5.6.1, says.
func TestListsOfETags(t *testing.T) {
	s := newService(t)
	etag := s.call(http.MethodPut, "/plants/1", `{"name":"n"}`).plant(t).ETag
	for value, want := range map[string]int{
		`"a" ,W/"` + etag + `",,`:         http.StatusNotModified,
		`"a,", W/"b"	, "` + etag + `" `:   http.StatusNotModified,
		`"` + etag[1:] + `"`:              http.StatusOK,
		`"*"`:                             http.StatusOK,
		`"` + strings.ToUpper(etag) + `"`: http.StatusOK,
		etag:                              http.StatusBadRequest,
		`W/a`:                             http.StatusBadRequest,
		`"a`:                              http.StatusBadRequest,
		`"a" "b"`:                         http.StatusBadRequest,
		`*, "a"`:                          http.StatusBadRequest,
		``:                                http.StatusBadRequest,
	} {
		a := s.call(http.MethodGet, "/plants/1", "", header("If-None-Match", value))
		if a.StatusCode != want || want != http.StatusBadRequest && a.Header.Get("ETag") != `"`+etag+`"` {
			t.Errorf("If-None-Match: %s gets %s %v, want %d", value, a.Status, a.Header, want)
		}
	}
	inTwoLines := func(r *http.Request) {
		for _, name := range []string{"If-None-Match", "If-Match"} {
			r.Header[name] = []string{`"a"`, `"` + etag + `"`}
		}
	}
	s.call(http.MethodGet, "/plants/1", "", inTwoLines).wantStatus(t, http.StatusNotModified)
}
