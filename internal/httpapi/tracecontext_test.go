package httpapi_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/token"
)

// The examples of W3C Trace Context.
const (
	traceID  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentID = "00f067aa0ba902b7"
)

func TestTraceContext(t *testing.T) {
	s, log, _ := observed(t, nil, all)
	logged := func(values ...string) line {
		a := s.call(http.MethodGet, "/plants", "", func(r *http.Request) { r.Header["Traceparent"] = values })
		for name := range a.Header {
			if strings.HasPrefix(strings.ToLower(name), "trace") {
				t.Errorf("the response has %s", name)
			}
		}
		lines := log.lines(t)
		l := lines[len(lines)-1]
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(l.TraceID) || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(l.SpanID) {
			t.Errorf("%q is logged as %+v", values, l)
		}
		return l
	}
	spans := map[string]bool{parentID: true}
	for _, taken := range []string{
		"00-" + traceID + "-" + parentID + "-01",
		"00-" + traceID + "-" + parentID + "-00",
		"00-" + traceID + "-" + parentID + "-03", // the flag of level 2
		"00-" + traceID + "-" + parentID + "-ff",
		"01-" + traceID + "-" + parentID + "-01", // a later version may have more fields
		"cc-" + traceID + "-" + parentID + "-01-what-the-future-will-be-like",
		"cc-" + traceID + "-" + parentID + "-01-",
	} {
		l := logged(taken)
		if l.TraceID != traceID || l.ParentSpanID != parentID || spans[l.SpanID] {
			t.Errorf("%s is logged as %+v", taken, l)
		}
		spans[l.SpanID] = true
	}
	for _, begun := range [][]string{
		nil,
		{""},
		{"00-" + traceID + "-" + parentID + "-01", "00-" + traceID + "-" + parentID + "-01"},
		{"00-" + traceID + "-" + parentID + "-01-"},
		{"00-" + traceID + "-" + parentID + "-1"},
		{"00-" + traceID + "-" + parentID},
		{"cc-" + traceID + "-" + parentID + "-01.more"},
		{"ff-" + traceID + "-" + parentID + "-01"},
		{"0g-" + traceID + "-" + parentID + "-01"},
		{"00-" + strings.ToUpper(traceID) + "-" + parentID + "-01"},
		{"00-" + traceID + "-" + strings.ToUpper(parentID) + "-01"},
		{"00-" + strings.Repeat("0", 32) + "-" + parentID + "-01"},
		{"00-" + traceID + "-" + strings.Repeat("0", 16) + "-01"},
		{"00-" + traceID[1:] + "-" + parentID + "-01"},
		{"00-" + traceID + "-" + parentID[1:] + "-01"},
		{strings.Repeat("00-"+traceID+"-"+parentID+"-01", 100)},
	} {
		l, again := logged(begun...), logged(begun...)
		if l.TraceID == traceID || l.ParentSpanID != "" || l.TraceID == again.TraceID || l.SpanID == again.SpanID {
			t.Errorf("%q is logged as %+v, then as %+v", begun, l, again)
		}
	}
}

// A traceparent that is a token is not logged.
func TestTraceContextContainsNoSecret(t *testing.T) {
	verifier := token.NewVerifier(nil, traceID)
	s, log, _ := observed(t, nil, func(opts *httpapi.Options) { opts.LogAll, opts.Tokens = true, verifier })
	s.call(http.MethodGet, "/plants", "", header("Traceparent", "00-"+traceID+"-"+parentID+"-01"))
	if l := log.lines(t)[0]; strings.Contains(log.String(), traceID) || len(l.TraceID) != 32 {
		t.Errorf("logged %s", log)
	}
}
