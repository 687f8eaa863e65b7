package httpapi_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/oidc"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/oidctest"
	"github.com/plantstore/plantstore/internal/token"
)

// withIssuer accepts the tokens of a provider, beside those of the store and the static
// token.
func withIssuer(t testing.TB, p *oidctest.Provider, store token.Store, change func(*httpapi.Options)) option {
	t.Helper()
	issuer, err := oidc.New(oidc.Config{
		Issuer: oidctest.Issuer, Audience: oidctest.Audience, MaxLifetime: time.Hour,
		Log: slog.New(slog.DiscardHandler), Transport: p,
	})
	must.NoError(t, err)
	verifier := token.NewVerifier(store, staticToken)
	t.Cleanup(func() { expect.NoError(t, verifier.Close()) })
	verifier.Accept(issuer)
	return withOptions(func(o *httpapi.Options) {
		o.Tokens = verifier
		if change != nil {
			change(o)
		}
	})
}

func TestTokenOfIdentityProvider(t *testing.T) {
	p, store, log := oidctest.New(t, oidctest.NewKey(t, "a")), openStore(t), &logged{}
	s := newService(t, withStore(store), withLog(log), withIssuer(t, p, store, func(o *httpapi.Options) { o.LogAll, o.RateLimit = true, httpapi.Rate{Limit: 4, Per: time.Hour} }))
	with := func(changes map[string]any) func(*http.Request) {
		return header("Authorization", "Bearer "+p.Token(oidctest.Claims(changes)))
	}
	s.post(`{"id":1,"name":"n"}`, with(nil)).wantStatus(t, http.StatusOK)
	s.call(http.MethodGet, "/plants/1", "", with(nil)).wantStatus(t, http.StatusOK)
	if got := log.lines(t)[0].Token; got != "robot" {
		t.Errorf("the token is logged as %q", got)
	}
	for scope, want := range map[string][2]int{"read": {200, 403}, "write": {403, 200}, "openid": {403, 403}} {
		by := with(map[string]any{"scope": scope, "client_id": "of " + scope})
		s.call(http.MethodGet, "/plants/1", "", by).wantStatus(t, want[0])
		s.post(`{"id":1,"name":"n"}`, by).wantStatus(t, want[1])
	}
	mine := s.call(http.MethodGet, "/plants/1", "", header("Authorization", "Bearer "+newToken(t, store, token.Write)))
	theirs := s.call(http.MethodGet, "/plants/1", "", with(map[string]any{"scope": "write", "client_id": nil}))
	mine.wantError(t, plantapi.CodeInsufficientScope)
	if alike(theirs) != alike(mine) {
		t.Errorf("a token without the scope gets %s, one of ours %s", alike(theirs), alike(mine))
	}
	// Tokens with the same client_id share a limit.
	for range 2 {
		s.call(http.MethodGet, "/plants/1", "", with(nil)).wantStatus(t, http.StatusOK)
	}
	s.call(http.MethodGet, "/plants/1", "", with(nil)).wantError(t, plantapi.CodeTooManyRequests)
	s.call(http.MethodGet, "/plants/1", "", with(map[string]any{"client_id": "other"})).wantStatus(t, http.StatusOK)
	// The others are accepted as before.
	s.call(http.MethodGet, "/plants/1", "").wantStatus(t, http.StatusOK)
	s.call(http.MethodGet, "/plants/1", "", header("Authorization", "Bearer "+newToken(t, store, token.Read))).wantStatus(t, http.StatusOK)
}

// alike is what must be equal in responses to bad credentials.
func alike(a response) string {
	h := a.Header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"} {
		h.Del(name)
	}
	return fmt.Sprint(a.Status, h, a.body)
}

// While the keys cannot be fetched, a token may be valid. Requests with such tokens are
// counted apart, whatever their operation: forged ones must not look like failures.
func TestIdentityProviderDown(t *testing.T) {
	p, store, log, registry := oidctest.New(t, oidctest.NewKey(t, "a")), openStore(t), &logged{}, prometheus.NewRegistry()
	s := newService(t, withStore(store), withLog(log), withIssuer(t, p, store, func(o *httpapi.Options) { o.Metrics, o.LogSlow = registry, time.Hour }))
	p.Stop(io.ErrUnexpectedEOF)
	a := s.post(`{"id":1,"name":"n"}`, header("Authorization", "Bearer "+p.Token(oidctest.Claims(nil))))
	if a.wantError(t, plantapi.CodeUnavailable); a.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
	}
	if l := log.lines(t); len(l) != 1 || !strings.Contains(l[0].Err, "identity provider") {
		t.Errorf("logged\n%s", log)
	}
	s.call(http.MethodGet, "/changes", "", header("Authorization", "Bearer "+p.Token(oidctest.Claims(nil)))).wantError(t, plantapi.CodeUnavailable)
	s.post(`{"id":1,"name":"n"}`).wantStatus(t, http.StatusOK)
	wantCounts(t, registry, map[string]float64{"unverified 503": 2, "createPlant 200": 1, "failure 50300": 2})
}

// Malformed and forged tokens get the response of a wrong token of ours, and the log has
// the reason. Package oidc has tests of the reasons.
func TestForgedTokens(t *testing.T) {
	key, foreign := oidctest.NewKey(t, "ec"), oidctest.NewKey(t, "ec")
	p, store, log := oidctest.New(t, key), openStore(t), &logged{}
	s := newService(t, withStore(store), withLog(log), withIssuer(t, p, store, func(o *httpapi.Options) { o.LogAll = true }))
	want := alike(s.call(http.MethodGet, "/plants", "", header("Authorization", "Bearer "+unknownToken())))
	for text, reason := range map[string]string{
		"a.b.c.d.e": "not a signed JWT",
		foreign.Sign(t, oidctest.Claims(nil), nil):                                 "the signature is wrong",
		p.Token(oidctest.Claims(map[string]any{"aud": "https://another"})):         "the audience is",
		p.Token(oidctest.Claims(map[string]any{"exp": nil})):                       "iat or exp is not a time",
		p.Token(oidctest.Claims(map[string]any{"x": strings.Repeat("x", 20_000)})): "longer than",
	} {
		a := s.call(http.MethodGet, "/plants", "", header("Authorization", "Bearer "+text))
		if got := alike(a); got != want {
			t.Errorf("%s: the response is\n%s, want\n%s", reason, got, want)
		}
		lines := log.lines(t)
		l := lines[len(lines)-1]
		if !strings.HasPrefix(l.Err, "credentials not valid: "+reason) || l.Msg != "token refused" || l.Level != "WARN" ||
			l.Error != 40101 || l.Token != "" || l.TraceID == "" {
			t.Errorf("%s: logged %+v", reason, l)
		}
	}
}
