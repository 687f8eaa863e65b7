package httpapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

func TestRequestID(t *testing.T) {
	s := newService(t)
	for _, given := range []string{"1", "0a-1b.2c_3d~4e:5f+6g/7h=8i", strings.Repeat("x", 128), uuid.NewString(), "pst_short"} {
		a := s.post(`{"id":1,"name":"n"}`, header("X-Request-Id", given))
		if got := a.Header["X-Request-Id"]; len(got) != 1 || got[0] != given {
			t.Errorf("a request %q has the id %q in its response", given, got)
		}
	}
	_, text := token.New("", nil, time.Hour)
	for _, given := range []string{
		"", " ", "a b", `a"b`, "a'b", "a,b", "a;b", "a\\b", "a%0Ab", "a\tb", "é", "a\x80", "{}", "<a>", strings.Repeat("x", 129), strings.Repeat("x", 1000),
		text, "a=" + text, staticToken, "a=" + staticToken,
	} {
		before := time.Now().Truncate(time.Millisecond)
		a := s.post(`{"id":1,"name":"n"}`, header("X-Request-Id", given))
		id, err := uuid.Parse(a.Header.Get("X-Request-Id"))
		if err != nil || id.Version() != 7 || id.Variant() != uuid.RFC4122 {
			t.Errorf("a request %q has the id %q in its response", given, a.Header["X-Request-Id"])
		}
		sec, nsec := id.Time().UnixTime()
		if made := time.Unix(sec, nsec); made.Before(before) || made.After(time.Now()) {
			t.Errorf("the id made at %v has the time %v", before, made)
		}
	}
	twice := s.post(`{"id":1,"name":"n"}`, func(r *http.Request) { r.Header["X-Request-Id"] = []string{"a", "b"} })
	if got := twice.Header["X-Request-Id"]; len(got) != 1 || got[0] == "a" || got[0] == "b" {
		t.Errorf("a request with two ids has the id %q", got)
	}
	one, other := s.post(""), s.post("")
	if one.Header.Get("X-Request-Id") == other.Header.Get("X-Request-Id") {
		t.Error("two requests have one id")
	}
}

// Errors have the id of their request, and each kind of line has it and the ids of the
// trace. Package contract checks that every other response has the id of its request.
func TestRequestIDOfFailures(t *testing.T) {
	s, log, _ := observed(t, func(real plant.Store) plant.Store {
		return faultyPlants{real, func() error { return errors.New("the cause") }}
	}, func(opts *httpapi.Options) { opts.LogSlow = 1 })
	with := header("Traceparent", "00-"+traceID+"-"+parentID+"-01")
	last := func(message, id string) line {
		t.Helper()
		lines := log.lines(t)
		l := lines[len(lines)-1]
		if l.Msg != message || l.RequestID != id || l.TraceID != traceID || l.ParentSpanID != parentID ||
			len(l.SpanID) != 16 {
			t.Errorf("%s was logged as %+v, want %s", id, l, message)
		}
		return l
	}
	for _, given := range []string{"mine", "not safe"} {
		a := s.post(`{"id":1,"name":"n"}`, with, header("X-Request-Id", given))
		e, id := a.wantError(t, plantapi.CodeInternal), a.Header.Get("X-Request-Id")
		if e.RequestID == nil || *e.RequestID != id {
			t.Errorf("the header says %s, the body %s", id, a.body)
		}
		if l := last("request failed", id); l.Err != "the cause" || l.Level != "ERROR" {
			t.Errorf("%s was logged as %+v", id, l)
		}
	}
	last("slow request", s.post(`{"id":"one"}`, with).Header.Get("X-Request-Id"))
}
