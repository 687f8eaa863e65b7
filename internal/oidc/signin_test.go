package oidc_test

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/oidc"
	"github.com/plantstore/plantstore/internal/testing/oidctest"
)

// People can sign in as soon as the provider responds, and it gets at most one request in ten
// seconds while it does not.
func TestSignIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := oidctest.New(t, oidctest.NewKey(t, "a"))
		signIn := oidc.NewSignIn(oidc.Config{Issuer: oidctest.Issuer, Log: slog.New(slog.DiscardHandler), Transport: p})
		want := func(authorization, token string) {
			t.Helper()
			if gotAuthorization, gotToken := signIn.Endpoints(t.Context()); gotAuthorization != authorization || gotToken != token {
				t.Errorf("the endpoints are %q and %q, want %q and %q", gotAuthorization, gotToken, authorization, token)
			}
		}
		p.Stop(errors.New("down"))
		for range 100 {
			want("", "")
		}
		p.Stop(nil)
		want("", "")
		if n := p.Requests(); n != 1 {
			t.Errorf("there were %d requests, want 1", n)
		}
		time.Sleep(11 * time.Second)
		for range 100 {
			want(oidctest.Issuer+"/authorize", oidctest.Issuer+"/token")
		}
		if n := p.Requests(); n != 2 {
			t.Errorf("there were %d requests, want 2", n)
		}
	})
}

// People never sign in at an address that others can read.
func TestSignInIsPrivate(t *testing.T) {
	for _, endpoint := range []string{"", "http://login.example.com/token", "/token", "javascript:alert(1)"} {
		p := oidctest.New(t, oidctest.NewKey(t, "a"))
		p.Change = func(_ string, w *httptest.ResponseRecorder) {
			replaceBody(w, strings.Replace(w.Body.String(), oidctest.Issuer+"/token", endpoint, 1))
		}
		signIn := oidc.NewSignIn(oidc.Config{Issuer: oidctest.Issuer, Log: slog.New(slog.DiscardHandler), Transport: p})
		if authorization, token := signIn.Endpoints(t.Context()); authorization != "" || token != "" {
			t.Errorf("with the token endpoint %q, people sign in at %q and %q", endpoint, authorization, token)
		}
	}
}
