package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// TestAuthorization sends each request on a connection of its own, byte by byte,
// because no client library would send most of these headers.
// TestInvalidCredentialsGetOneResponse has tokens of the right form.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	s := newService(t)
	create := func(lifetime time.Duration) string {
		stored, text := token.New("n", []token.Scope{token.Write}, lifetime)
		must.NoError(t, s.store.CreateToken(t.Context(), stored))
		return text
	}
	good, other, unknown := create(time.Hour), create(0), unknownToken()
	const (
		ok        plantapi.ErrorCode = http.StatusOK
		none                         = plantapi.CodeNoCredentials
		bad                          = plantapi.CodeBadCredentials
		malformed plantapi.ErrorCode = http.StatusBadRequest                  // by net/http,
		tooLarge  plantapi.ErrorCode = http.StatusRequestHeaderFieldsTooLarge // before the handler is called
	)
	for name, c := range map[string]struct {
		headers string
		want    plantapi.ErrorCode
	}{
		"a stored token":                       {"Authorization: Bearer " + good, ok},
		"one that never expires":               {"Authorization: Bearer " + other, ok},
		"the static token":                     {"Authorization: Bearer " + staticToken, ok},
		"the header in lower case":             {"authorization: Bearer " + good, ok},
		"the scheme in lower case":             {"Authorization: bearer " + good, ok},
		"the scheme in mixed case":             {"Authorization: bEaReR " + good, ok},
		"many spaces after the scheme":         {"Authorization: Bearer     " + good, ok},
		"no space after the colon":             {"Authorization:Bearer " + good, ok},
		"spaces and tabs around the value":     {"Authorization: \t Bearer " + good + " \t ", ok},
		"a folded line, which is a space":      {"Authorization: Bearer\r\n  " + good, ok},
		"another token in Proxy-Authorization": {"Authorization: Bearer " + good + "\r\nProxy-Authorization: Bearer " + unknown, ok},
		"no header":                            {"X-Nothing: 1", none},
		"an empty header":                      {"Authorization:", none},
		"a header of tabs":                     {"Authorization: \t\t", none},
		"the token without a scheme":           {"Authorization: " + good, none},
		"Basic":                                {"Authorization: Basic dXNlcjpwYXNz", none},
		"Basic with the token":                 {"Authorization: Basic " + good, none},
		"a scheme that begins like ours":       {"Authorization: Bearers " + good, none},
		"scheme and token joined":              {"Authorization: Bearer" + good, none},
		"another scheme, then ours":            {"Authorization: Basic dXNlcjpwYXNz, Bearer " + good, none},
		"the token in Proxy-Authorization":     {"Proxy-Authorization: Bearer " + good, none},
		"the token in a cookie":                {"Cookie: token=" + good + "; Authorization=Bearer " + good, none},
		"the scheme alone":                     {"Authorization: Bearer", bad},
		"the scheme twice":                     {"Authorization: Bearer Bearer " + good, bad},
		"a tab after the scheme":               {"Authorization: Bearer\t" + good, bad},
		"a word after the token":               {"Authorization: Bearer " + good + " x", bad},
		"a list of tokens":                     {"Authorization: Bearer " + good + ", " + other, bad},
		"ours, then another scheme":            {"Authorization: Bearer " + good + ", Basic dXNlcjpwYXNz", bad},
		"the token as a parameter":             {"Authorization: Bearer token=" + good, bad},
		"the token in quotes":                  {`Authorization: Bearer "` + good + `"`, bad},
		"the token, escaped":                   {"Authorization: Bearer pst%5F" + good[4:], bad},
		"the token in upper case":              {"Authorization: Bearer " + strings.ToUpper(good), bad},
		"the token with a byte changed":        {"Authorization: Bearer " + good[:30] + "~" + good[31:], bad},
		"the token cut short":                  {"Authorization: Bearer " + good[:len(good)-1], bad},
		"the token and a character":            {"Authorization: Bearer " + good + "0", bad},
		"the static token and a character":     {"Authorization: Bearer " + staticToken + "=", bad},
		"only the public id":                   {"Authorization: Bearer " + good[:16], bad},
		"a JWT":                                {"Authorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.", bad},
		"a token of 10,000 characters":         {"Authorization: Bearer " + strings.Repeat("x", 10_000), bad},
		"a token that is not UTF-8":            {"Authorization: Bearer pst_\xff\xfe", bad},
		"two equal headers":                    {"Authorization: Bearer " + good + "\r\nAuthorization: Bearer " + good, bad},
		"two headers, one of them empty":       {"Authorization: Bearer " + good + "\r\nAuthorization:", bad},
		"two headers, one of them of Basic":    {"Authorization: Basic dXNlcjpwYXNz\r\nAuthorization: Bearer " + good, bad},
		"a NUL in the token":                   {"Authorization: Bearer " + good + "\x00", malformed},
		"a space before the colon":             {"Authorization : Bearer " + good, malformed},
		"a token of two million characters":    {"Authorization: Bearer " + strings.Repeat("x", 2_000_000), tooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			s, request := s.with(t), rawPlant("/plants", c.headers, `{"id":1,"name":"n"}`)
			speak := s.speak
			if c.want == malformed || c.want == tooLarge {
				speak = s.speakUnheld
			}
			a := speak(request, false)
			challenge := ""
			switch c.want {
			case ok, malformed, tooLarge:
				if a.StatusCode != int(c.want) {
					t.Errorf("got %s %.200q, want %d", a.Status, a.body, c.want)
				}
			case none:
				a.wantError(t, none)
				challenge = `Bearer realm="plantstore"`
			case bad:
				a.wantError(t, bad)
				challenge = `Bearer realm="plantstore", error="invalid_token"`
			}
			if got := strings.Join(a.Header.Values("WWW-Authenticate"), "|"); got != challenge {
				t.Errorf("WWW-Authenticate is %q, want %q", got, challenge)
			}
		})
	}
}

// A token outside the Authorization header is ignored.
func TestTokenOutsideAuthorizationHeader(t *testing.T) {
	s := newService(t)
	const plant = `{"id":1,"name":"n"}`
	for name, c := range map[string]struct{ target, headers, body string }{
		"in the query":          {"/plants?access_token=" + staticToken, "Content-Type: application/json", plant},
		"in the query, escaped": {"/plants?Authorization=Bearer%20" + staticToken, "Content-Type: application/json", plant},
		"in a form":             {"/plants", "Content-Type: application/x-www-form-urlencoded", "access_token=" + staticToken},
		"in the plant":          {"/plants", "Content-Type: application/json", `{"id":1,"name":"n","access_token":"` + staticToken + `"}`},
		"in front of the host":  {"http://bearer:" + staticToken + "@x/plants", "Content-Type: application/json", plant},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.with(t)
			s.speak(rawPlant(c.target, c.headers, c.body), false).wantError(t, plantapi.CodeNoCredentials)
			s.wantNone(1)
		})
	}
	t.Run("in the trailer", func(t *testing.T) {
		s.with(t).speak(fmt.Sprintf("POST /plants HTTP/1.1\r\nHost: x\r\nTrailer: Authorization\r\nContent-Type: application/json\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nAuthorization: Bearer %s\r\n\r\n", len(plant), plant, staticToken), false).wantError(t, plantapi.CodeNoCredentials)
	})
	unknown := unknownToken()
	if a := s.speak(rawPlant("/plants?access_token="+unknown, "Authorization: Bearer "+staticToken, plant), false); a.StatusCode != http.StatusOK {
		t.Errorf("a valid header with an invalid token in the query: got %s %s", a.Status, a.body)
	}
	s.speak(rawPlant("/plants?access_token="+staticToken, "Authorization: Bearer "+unknown, plant), false).wantError(t, plantapi.CodeBadCredentials)
}

// rawPlant returns a POST with headers in the form in which they are sent.
func rawPlant(target, headers, body string) string {
	if !strings.Contains(headers, "Content-Type") {
		headers += "\r\nContent-Type: application/json"
	}
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		target, headers, len(body), body)
}
