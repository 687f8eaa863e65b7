package scenario

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A response is read as one object, of which a number is the text with which it is written.
func TestMember(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body string
		want any
	}{
		{`{"a":"x"}`, "x"},
		{`{"a":1.50}`, "1.50"},
		{`{"a":true}`, true},
		{`{"a":null}`, nil},
		{`{"b":1}`, nil},
		{`["a"]`, nil},
		{`{"a":"x"} {}`, nil},
		{`{"a":"x","a":"y"}`, nil},
		{``, nil},
	} {
		if got := (Interaction{Body: []byte(c.body)}).Member("a"); got != c.want {
			t.Errorf("of %s it is %v, want %v", c.body, got, c.want)
		}
	}
}

// A response is received whole, and its value is decoded once.
func TestReceive(t *testing.T) {
	t.Parallel()
	body := []byte(`{"a":"x"}`)
	var x Interaction
	x.Receive(http.StatusOK, http.Header{"A": {"b"}}, body)
	if x.Status != http.StatusOK || x.Header.Get("A") != "b" || string(x.Body) != string(body) || x.Member("a") != "x" {
		t.Errorf("the response is %+v", x)
	}
	copy(body, `{"a":"y"}`)
	if got := x.Member("a"); got != "x" {
		t.Errorf("the value was decoded again: %v", got)
	}
}

// A wrong credential is as long as the secret, in both parts of a name and a password.
func TestWrongOf(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{
		"": WrongCredential, "ab": WrongCredential, "abc": "not", "secret": "not-a-", "ann:secret": "not:not-a-",
		strings.Repeat("x", 20): "not-a-credentialnot-",
	} {
		if got := WrongOf(secret); got != want {
			t.Errorf("of %q it is %q, want %q", secret, got, want)
		}
	}
}

// The address of a request is read with its query.
func TestParsedURL(t *testing.T) {
	t.Parallel()
	address, err := Interaction{URL: "http://a.example/x?y=1"}.ParsedURL()
	if err != nil || address.Path != "/x" || address.RawQuery != "y=1" {
		t.Errorf("it is %v, %v", address, err)
	}
}

// A request has one of some headers if it has a value.
func TestHasRequestHeader(t *testing.T) {
	t.Parallel()
	x := Interaction{RequestHeader: http.Header{"A": {"x"}, "B": nil}}
	for names, want := range map[string]bool{"A": true, "B": false, "C": false, "C A": true, "": false} {
		if x.HasRequestHeader(strings.Fields(names)...) != want {
			t.Errorf("%s: %v", names, !want)
		}
	}
}

// What is secret is shown as a variable of a shell, a wrong credential as it is.
func TestHidden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sent, secret, want string }{
		{"Bearer s3", "Bearer s3", "$X_KEY"},
		{"other", "s3", "$X_KEY"},
		{"s3", "s3", "$X_KEY"},
		{"", "s3", ""},
		{"Bearer", "Bearer s3", "Bearer"},
		{"Bearer", "s3", "$X_KEY"},
		{"Bearer s", "Bearer s3", "${X_KEY%?}"},
		{"Bearer t", "Bearer s3", "$X_KEY"},
		{"Bearer ", "Bearer s3", "$X_KEY"},
		{"Bearer not-a-credential", "Bearer s3", "Bearer not-a-credential"},
		{"Basic bm90LWEtY3JlZGVudGlhbDp4", "Basic cw==", "Basic bm90LWEtY3JlZGVudGlhbDp4"}, // of not-a-credential:x
		{"Basic dXNlcjp4", "Basic cw==", "$X_KEY"},                                         // of user:x
		{"a=not-a-credential", "a=s3; b=s4", "a=not-a-credential"},
		{"a=not-a-credential; b=s4", "a=s3; b=s4", "$X_KEY"},
	} {
		x := Interaction{RequestHeader: http.Header{"X-Key": {c.sent}, "X-Other": {"o"}}}
		if c.sent == "" {
			delete(x.RequestHeader, "X-Key")
		}
		hidden := x.Hidden(http.Header{"X-Key": {c.secret}})
		if got := hidden.RequestHeader.Get("X-Key"); got != c.want {
			t.Errorf("%q of %q is shown as %q, want %q", c.sent, c.secret, got, c.want)
		}
		if hidden.RequestHeader.Get("X-Other") != "o" || x.RequestHeader.Get("X-Key") != c.sent {
			t.Errorf("%q: another header has changed: %v, %v", c.sent, hidden.RequestHeader, x.RequestHeader)
		}
	}
}

// Two values of a header are secret as one of both is.
func TestHiddenOfTwo(t *testing.T) {
	t.Parallel()
	x := Interaction{RequestHeader: http.Header{"Cookie": {"a=not-a-credential", "b=s4"}}}
	if got := x.Hidden(http.Header{"Cookie": {"a=s3", "b=s4"}}).RequestHeader["Cookie"]; fmt.Sprint(got) != "[$COOKIE]" {
		t.Errorf("they are shown as %q", got)
	}
	x.User = Other
	if got := x.Hidden(http.Header{"Cookie": {"a=s3", "b=s4"}}).Curl(); !strings.HasSuffix(got, ` -H "Cookie: $OTHER_COOKIE"`) {
		t.Errorf("those of another user are shown as %q", got)
	}
}

// A command line repeats a request in any shell.
func TestCurl(t *testing.T) {
	t.Parallel()
	const begin = "curl -i -X POST 'http://a.example/x'"
	for _, c := range []struct {
		name string
		x    Interaction
		want string
	}{
		{"plain", Interaction{}, ""},
		{"a body", Interaction{RequestBody: []byte(`{"a":"it's"}`)}, ` --data-binary '{"a":"it'\''s"}'`},
		{"a line break", Interaction{RequestBody: []byte("a\n'b")}, ` --data-binary $'a\n\'b'`},
		{"no UTF-8", Interaction{RequestBody: []byte("\xff")}, ` --data-binary $'\xff'`},
		{"dots", Interaction{Path: "/.."}, " --path-as-is"},
		{"a dot in a name", Interaction{Path: "/a.b"}, ""},
		{"headers", Interaction{RequestHeader: http.Header{"X-B": {"2", "3"}, "X-A": {"1"}}}, ` -H 'X-A: 1' -H 'X-B: 2' -H 'X-B: 3'`},
		{"secrets", Interaction{RequestHeader: http.Header{"X-A": {"$X_A"}, "X-B": {"${X_B%?}"}, "X-C": {"$X_A"}}}, ` -H "X-A: $X_A" -H "X-B: ${X_B%?}" -H 'X-C: $X_A'`},
		{"the longest body", Interaction{RequestBody: []byte(strings.Repeat("x", 4096))}, " --data-binary '" + strings.Repeat("x", 4096) + "'"},
		{"a longer one", Interaction{RequestBody: []byte(`["` + strings.Repeat("x", 4096) + `"]`)}, ` --data-binary @<(printf %s '["'; printf 'x%.0s' {1..4096}; printf %s '"]')`},
		{"a run of digits", Interaction{RequestBody: []byte("a" + strings.Repeat("7", 4096))}, ` --data-binary @<(printf %s 'a'; printf '7%.0s' {1..4096})`},
		{"a run that printf would read", Interaction{RequestBody: []byte(strings.Repeat("%", 4097))}, " --data-binary '" + strings.Repeat("%", 4096) + "' # and 1 bytes more"},
		{"one that is not repeated", Interaction{RequestBody: []byte(strings.Repeat("xy", 2049))}, " --data-binary '" + strings.Repeat("xy", 2048) + "' # and 2 bytes more"},
	} {
		c.x.Method = http.MethodPost
		c.x.URL = "http://a.example/x"
		if got := c.x.Curl(); got != begin+c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, begin+c.want)
		}
	}
}

// The commands write a long body.
func TestLongBody(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		strings.Repeat("x", 200_000), `{"it's": "` + strings.Repeat("蘭", 3000) + `%s\", "n": ` + strings.Repeat("7", 5000) + "}",
	} {
		line := Interaction{Method: http.MethodPost, URL: "http://a.example", RequestBody: []byte(body)}.Curl()
		_, argument, _ := strings.Cut(line, "--data-binary @")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := exec.CommandContext(ctx, "bash", "-c", "cat "+argument).Output()
		if err != nil || string(got) != body || len(line) > 300 {
			t.Errorf("a line of %d bytes writes %d of %d bytes, %v", len(line), len(got), len(body), err)
		}
	}
}

// The events of a stream are those that have ended. What the standard does not have is a fault.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, events, faults string }{
		{"", "[]", "[]"},
		{"id: 1\nevent: made\ndata: a\ndata:b\n\n", `[{1 made a|b}]`, "[]"},
		{"data: a\n\ndata:  b\n\n", `[{  a} {   b}]`, "[]"},
		{"data: a\n\nid: 2\n", `[{  a}]`, "[]"},
		{"data: a\n\nid: 2\n\n", `[{  a} {2  }]`, "[]"},
		{": comment\n\n\nretry: 5\n\n", `[{  }]`, "[]"},
		{"data: a\n\n\n", `[{  a}]`, "[]"},
		{"data: a\n\ncut", `[{  a}]`, "[]"},
		{"other: a\n\n", `[{  }]`, `[body: text/event-stream: line 1 has the unknown field "other"]`},
		{"data\n: c\nmore\n\n", `[{  }]`, `[body: text/event-stream: line 3 has the unknown field "more"]`},
	} {
		events, faults := Interaction{Body: []byte(c.body)}.Events()
		got := strings.ReplaceAll(fmt.Sprint(events), "\n", "|")
		if got != c.events || fmt.Sprint(faults) != c.faults {
			t.Errorf("%q has %s and %v, want %s and %s", c.body, got, faults, c.events, c.faults)
		}
	}
	for mediaType, want := range map[string]bool{"text/event-stream; charset=utf-8": true, "text/plain": false, "/": false} {
		if IsEventStream(http.Header{"Content-Type": {mediaType}}) != want {
			t.Errorf("%s is a stream: %v", mediaType, !want)
		}
	}
}
