package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Every condition on an ETag holds or fails as RFC 9110, section 13.1, says, on each operation
// of a plant, and conditions on times are ignored.
func TestConditions(t *testing.T) {
	s := newService(t)
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	future := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, operation := range []struct{ method, body, mediaType string }{
		{http.MethodGet, "", ""},
		{http.MethodHead, "", ""},
		{http.MethodPut, `{"name":"changed"}`, "application/json"},
		{http.MethodPatch, `{"name":"changed"}`, "application/merge-patch+json"},
		{http.MethodDelete, "", ""},
	} {
		isRead := operation.body == "" && operation.method != http.MethodDelete
		for _, c := range []struct {
			header, value string // CURRENT is the ETag
			fails         bool
		}{
			{"If-Match", "CURRENT", false},
			{"If-Match", `"other", CURRENT`, false},
			{"If-Match", "*", false},
			{"If-Match", `"other"`, true},
			{"If-Match", "W/CURRENT", true}, // compares strongly
			{"If-None-Match", `"other"`, false},
			{"If-None-Match", "CURRENT", true},
			{"If-None-Match", "W/CURRENT", true}, // compares weakly
			{"If-None-Match", `"other", CURRENT`, true},
			{"If-None-Match", "*", true},
			{"If-Modified-Since", future, false},
			{"If-Unmodified-Since", past, false},
			{"If-Range", `"other"`, false},
		} {
			s.call(http.MethodPut, "/plants/1", `{"name":"n"}`)
			etag := s.call(http.MethodGet, "/plants/1", "").Header.Get("ETag")
			value := strings.ReplaceAll(c.value, "CURRENT", etag)
			got := s.call(operation.method, "/plants/1", operation.body, header(c.header, value), func(r *http.Request) {
				if operation.mediaType != "" {
					r.Header.Set("Content-Type", operation.mediaType)
				}
			})
			ok := got.StatusCode/100 == 2
			if c.fails {
				ok = got.StatusCode == http.StatusPreconditionFailed
			}
			if c.fails && isRead && c.header == "If-None-Match" {
				ok = got.StatusCode == http.StatusNotModified
			}
			if !ok {
				t.Errorf("%s with %s: %s = %s", operation.method, c.header, c.value, got.Status)
			}
			after := s.call(http.MethodGet, "/plants/1", "")
			if unchanged := after.Header.Get("ETag") == etag; unchanged != (isRead || c.fails) {
				t.Errorf("%s with %s: %s: the plant is unchanged: %t", operation.method, c.header, c.value, unchanged)
			}
		}
	}
}

// A list of ETags is read as RFC 9110, section 8.8.3 and section 5.6.1, says. TestParameterMessages has wrong ones.
func TestListsOfETags(t *testing.T) {
	s := newService(t)
	etag := s.call(http.MethodPut, "/plants/1", `{"name":"n"}`).plant(t).ETag
	for value, want := range map[string]int{
		`"a" ,W/"` + etag + `",,`:         http.StatusNotModified,
		`"a,", W/"b"	, "` + etag + `" `:   http.StatusNotModified,
		`"` + etag[1:] + `"`:              http.StatusOK,
		`"*"`:                             http.StatusOK,
		`"` + strings.ToUpper(etag) + `"`: http.StatusOK,
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
