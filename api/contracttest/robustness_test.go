package contracttest

import (
	"bytes"
	_ "embed"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// notesDocument says little, as many documents do: its body has no type and is optional.
//
//go:embed testdata/notes.yaml
var notesDocument string

// noteService is a right service of notesDocument.
func noteService(c *Contract) *service {
	return &service{
		contract: c, failure: func(status int) *reply {
			if status == 400 {
				status = 422
			}
			return newReply(status, map[string]any{"detail": http.StatusText(status)})
		},
		respond: map[string]func(call) *reply{
			"addNote":    func(q call) *reply { return newReply(200, map[string]any{"members": len(q.body)}) },
			"changeNote": func(call) *reply { return newReply(404, map[string]any{"detail": "none"}) },
		},
	}
}

// What only Schemathesis found once: each fault is in one service, and found for its cause.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	c := contractFrom(t, notesDocument, Options{Seed: 1})
	right := noteService(c)
	crash := func(when func(r *http.Request, body []byte) bool) wrong {
		crashes := false
		return wrong{request: func(r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			crashes = when(r, body)
		}, response: func(_ *http.Request, a *reply) {
			if crashes {
				*a = *newReply(500, nil)
			}
		}}
	}
	body := func(pattern string) func(*http.Request, []byte) bool {
		return func(r *http.Request, body []byte) bool {
			return r.Method == "POST" && regexp.MustCompile(pattern).Match(body)
		}
	}
	for name, want := range map[string]struct {
		wrong
		cause string
	}{
		"nothing":                    {},
		"500 for an array":           {crash(body(`^\[`)), "addNote responds with 500"},
		"500 for a number":           {crash(body(`^[0-9]`)), "addNote responds with 500"},
		"500 for null":               {crash(body(`^null`)), "addNote responds with 500"},
		"500 for an infinite number": {crash(body(`1e999`)), "addNote responds with 500"},
		"500 for a control character": {crash(func(r *http.Request, _ []byte) bool {
			return r.Method == "PATCH" && strings.ContainsAny(r.URL.Path, "\x00\x7f")
		}), "changeNote responds with 500"},
		"500 for a number out of path":          {crash(func(r *http.Request, _ []byte) bool { return strings.Contains(r.URL.Path, "/9999999999") }), "changeNote responds with 500"},
		"500 for -1 in a query":                 {crash(func(r *http.Request, _ []byte) bool { return r.URL.RawQuery == "q=-1" }), "addNote responds with 500"},
		"500 for a byte in a query":             {crash(func(r *http.Request, _ []byte) bool { return strings.Contains(r.URL.RawQuery, "q=%FF") }), "addNote responds with 500"},
		"500 for an entity tag without quotes":  {crash(func(r *http.Request, _ []byte) bool { return r.Header.Get("If-Match") == "*1" }), "changeNote responds with 500"},
		"500 for an entity tag that is a quote": {crash(func(r *http.Request, _ []byte) bool { return r.Header.Get("If-Match") == `"` }), "changeNote responds with 500"},
		"412 for an entity tag without quotes": {wrong{response: func(r *http.Request, a *reply) {
			if slices.Contains(values.RobustnessEntityTags, r.Header.Get("If-Match")) {
				*a = *right.failure(412)
			}
		}}, ""},
		"the optional body is required": {wrong{response: func(r *http.Request, a *reply) {
			if r.ContentLength <= 0 && r.Method == "POST" && r.URL.Path == "/notes" {
				*a = *right.failure(422)
			}
		}}, "addNote: a request without a body, which is optional, is refused with 422"},
		"400 for invalid UTF-8":                 {crashWith(400, func(text []byte) bool { return !utf8.Valid(text) }), "the status 400 is not documented"},
		"another failure for what is no object": {crashWith(422, func(text []byte) bool { return bytes.HasPrefix(text, []byte("[")) }), "a response with 422: body /detail is missing"},
		"invalid JSON for a quote in a name":    {crashWith(200, func(text []byte) bool { return bytes.Contains(text, []byte(`a\"b`)) }), "addNote, 200: body is not what its media type says"},
		"invalid JSON for an empty name":        {crashWith(200, func(text []byte) bool { return bytes.HasPrefix(text, []byte(`{"":{`)) }), "addNote, 200: body is not what its media type says"},
	} {
		c.ledger.Clear()
		try(c, Target{URL: "http://notes.example", Transport: inProcess{want.of(right)}})
		found := false
		for _, cause := range c.Causes() {
			if found = found || cause.Cause == want.cause; cause.Cause != want.cause {
				t.Errorf("%s: another cause is %s", name, cause)
			}
		}
		if found != (want.cause != "") {
			t.Errorf("%s: %q is not among the causes", name, want.cause)
		}
	}
}

// crashWith responds with a status and a body that fits none.
func crashWith(status int, when func(body []byte) bool) wrong {
	crashes := false
	return wrong{request: func(r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		crashes = when(body)
	}, response: func(r *http.Request, a *reply) {
		if crashes && r.URL.Path == "/notes" && r.Method == "POST" {
			a.status, a.body = status, map[int]string{400: `{"detail":"x"}`, 422: `{}`, 200: `{"name":"`}[status]
		}
	}}
}

// A document that lists 500 does not make a crash right.
func TestDocumentedCrash(t *testing.T) {
	t.Parallel()
	c := contractFrom(t, strings.ReplaceAll(notesDocument, `"422"`, "default"), Options{Seed: 1})
	for _, test := range testsOf(c) {
		if strings.Contains(test.Name, ", robustness, ") {
			failures, _ := attempt(test, Target{URL: "http://notes.example", Transport: faulty{500, http.Header{"Content-Type": {"application/json"}}, `{"detail":"crashed"}`}})
			if len(failures) != 1 || failures[0].Rank != scenario.Crash {
				t.Errorf("%s: the failures are %v", test.Name, failures)
			}
		}
	}
}

// A seed draws the same requests again, and another one others.
func TestSeed(t *testing.T) {
	drawn := func(seed string) (all, lines string) {
		t.Setenv("CONTRACT_SEED", seed)
		c := contractFrom(t, notesDocument, Options{})
		for _, r := range c.Requests() {
			all += string(r.Body)
		}
		heard := &told{}
		testsOf(c)[0].Run(heard, Target{URL: "http://things.example", Transport: faulty{500, http.Header{}, ""}})
		return all, strings.Join(heard.lines, "\n")
	}
	one, lines := drawn("7")
	if again, _ := drawn("7"); again != one || !strings.Contains(lines, "CONTRACT_SEED=7") {
		t.Errorf("the seed 7 does not repeat the requests, or is not told: %s", lines)
	}
	if other, _ := drawn("8"); other == one {
		t.Error("the seed 8 draws the requests of the seed 7")
	}
	t.Setenv("CONTRACT_SEED", "x")
	if _, err := New([]byte(smallDocument), Options{}); err == nil {
		t.Error("x is a seed")
	}
	t.Setenv("CONTRACT_SEED", "")
	a, b := seedOf(t), seedOf(t)
	if a == b || a == 0 {
		t.Errorf("the seeds %d and %d are drawn", a, b)
	}
}

// Two runs of one service create things with different identities if their seeds are different.
func TestSeedIdentities(t *testing.T) {
	t.Parallel()
	first := func(seed uint64) int64 { return Options{}.ofPlan(seed, choice{}).FirstID }
	if first(8)-first(7) < betweenIDs || first(7) != first(7+firstIDs) {
		t.Errorf("the identities of the seeds 7, 8 and %d begin at %d, %d and %d", 7+firstIDs, first(7), first(8), first(7+firstIDs))
	}
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	c := contractFrom(t, smallDocument, Options{})
	return c.seed
}
