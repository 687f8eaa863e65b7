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
	good, other, unknown, reader := create(time.Hour), create(0), unknownToken(), newToken(t, s.store, token.Read)
	const (
		ok    plantapi.ErrorCode = http.StatusOK
		none                     = plantapi.CodeNoCredentials
		bad                      = plantapi.CodeBadCredentials
		scope                    = plantapi.CodeInsufficientScope
	)
	challenges := map[plantapi.ErrorCode]string{
		none:  `Bearer realm="plantstore"`,
		bad:   `Bearer realm="plantstore", error="invalid_token"`,
		scope: `Bearer realm="plantstore", error="insufficient_scope", scope="write"`,
	}
	for name, c := range map[string]struct {
		headers string
		want    plantapi.ErrorCode
	}{
		"a stored token":                       {"Authorization: Bearer " + good, ok},
		"the static token":                     {"Authorization: Bearer " + staticToken, ok},
		"the scheme in lower case":             {"Authorization: bearer " + good, ok},
		"another token in Proxy-Authorization": {"Authorization: Bearer " + good + "\r\nProxy-Authorization: Bearer " + unknown, ok},
		"a token that may only read":           {"Authorization: Bearer " + reader, scope},
		"no header":                            {"X-Nothing: 1", none},
		"an empty header":                      {"Authorization:", none},
		"the token without a scheme":           {"Authorization: " + good, none},
		"Basic with the token":                 {"Authorization: Basic " + good, none},
		"a scheme that begins like ours":       {"Authorization: Bearers " + good, none},
		"another scheme, then ours":            {"Authorization: Basic dXNlcjpwYXNz, Bearer " + good, none},
		"the token in Proxy-Authorization":     {"Proxy-Authorization: Bearer " + good, none},
		"the scheme alone":                     {"Authorization: Bearer", bad},
		"the scheme twice":                     {"Authorization: Bearer Bearer " + good, bad},
		"a tab after the scheme":               {"Authorization: Bearer\t" + good, bad},
		"a word after the token":               {"Authorization: Bearer " + good + " x", bad},
		"a list of tokens":                     {"Authorization: Bearer " + good + ", " + other, bad},
		"the token with a byte changed":        {"Authorization: Bearer " + good[:30] + "~" + good[31:], bad},
		"a token that is not UTF-8":            {"Authorization: Bearer pst_\xff\xfe", bad},
		"two headers, one of them empty":       {"Authorization: Bearer " + good + "\r\nAuthorization:", bad},
	} {
		a := s.speak(rawPlant("/plants", c.headers, `{"id":1,"name":"n"}`), false)
		got := ok
		if a.StatusCode != http.StatusOK {
			got = plantapi.ErrorCode(decode[plantapi.Error](t, a.body).Error)
		}
		challenge := strings.Join(a.Header.Values("WWW-Authenticate"), "|")
		if got != c.want || challenge != challenges[c.want] {
			t.Errorf("%s gets %s %s with the challenge %q, want %d with %q", name, a.Status, a.body, challenge, c.want, challenges[c.want])
		}
	}
}

// A token outside the Authorization header is ignored.
func TestTokenOutsideAuthorizationHeader(t *testing.T) {
	s := newService(t)
	const plant = `{"id":1,"name":"n"}`
	for _, c := range []struct{ target, headers, body string }{
		{"/plants?access_token=" + staticToken, "Content-Type: application/json", plant},
		{"/plants", "Content-Type: application/x-www-form-urlencoded", "access_token=" + staticToken},
		{"http://bearer:" + staticToken + "@x/plants", "Content-Type: application/json", plant},
	} {
		s.speak(rawPlant(c.target, c.headers, c.body), false).wantError(t, plantapi.CodeNoCredentials)
		s.wantNone(1)
	}
	const unknown = "/plants?access_token=unknown"
	s.speak(rawPlant(unknown, "Authorization: Bearer "+staticToken, plant), false).wantStatus(t, http.StatusOK)
}

// rawPlant returns a POST with headers in the form in which they are sent.
func rawPlant(target, headers, body string) string {
	if !strings.Contains(headers, "Content-Type") {
		headers += "\r\nContent-Type: application/json"
	}
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		target, headers, len(body), body)
}
