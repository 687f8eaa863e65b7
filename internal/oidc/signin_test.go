package oidc_test

import (
	"context"
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

func newSignIn(p *oidctest.Provider) *oidc.SignIn {
	return oidc.NewSignIn(oidc.Config{Issuer: oidctest.Issuer, Log: slog.New(slog.DiscardHandler), Transport: p})
}

// wantEndpoints fails unless the endpoints are those of the provider, below an address; empty: there are none.
func wantEndpoints(t *testing.T, signIn *oidc.SignIn, address string) {
	t.Helper()
	wanted := [2]string{}
	if address != "" {
		wanted = [2]string{address + "/authorize", address + "/token"}
	}
	began := time.Now()
	authorization, token := signIn.Endpoints()
	if got := [2]string{authorization, token}; got != wanted || time.Since(began) > 0 {
		t.Errorf("after %v the endpoints are %q, want %q", time.Since(began), got, wanted)
	}
}

// The provider is asked until it has responded, and an hour later again. What it said last stays while it
// fails. No request waits for it.
func TestSignIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := oidctest.New(t, oidctest.NewKey(t, "a"))
		signIn := newSignIn(p)
		wantEndpoints(t, signIn, "")
		// update fails unless an update takes so long, and makes so many requests.
		update := func(took time.Duration, requests int) {
			t.Helper()
			before, began := p.Requests(), time.Now()
			signIn.Update(t.Context())
			if got := p.Requests() - before; got != requests || time.Since(began) != took {
				t.Errorf("an update made %d requests in %v, want %d in %v", got, time.Since(began), requests, took)
			}
		}
		p.Stop(errors.New("down"))
		update(0, 1)
		wantEndpoints(t, signIn, "")
		p.Stop(nil)
		p.Delay = time.Hour
		update(5*time.Second, 1)
		wantEndpoints(t, signIn, "")
		p.Delay = time.Second
		update(time.Second, 1)
		wantEndpoints(t, signIn, oidctest.Issuer)

		time.Sleep(59 * time.Minute)
		update(0, 0)
		time.Sleep(time.Minute)
		p.Delay = time.Hour
		update(5*time.Second, 1)
		wantEndpoints(t, signIn, oidctest.Issuer)
		p.Delay = 0
		p.Change = func(_ string, w *httptest.ResponseRecorder) {
			replaceBody(w, strings.NewReplacer("garden/token", "shed/token", "garden/authorize", "shed/authorize").Replace(w.Body.String()))
		}
		update(0, 1)
		wantEndpoints(t, signIn, "https://login.example.com/shed")
	})
}

// The service stops at once while the provider hangs.
func TestUpdateEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := oidctest.New(t, oidctest.NewKey(t, "a"))
		p.Delay = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		newSignIn(p).Update(ctx)
		if took := time.Since(began); took != time.Second {
			t.Errorf("an update ended %v after its begin, want 1s", took)
		}
	})
}

// People never sign in at an address that others can read. The policy of the page gets the host of the token
// endpoint, so a host must not be a pattern, several sources, or another directive.
func TestSignInRefusesEndpoints(t *testing.T) {
	for _, endpoint := range []string{
		"", "/token", "http://login.example.com/token", "javascript:alert(1)", "https:///token",
		"https://*", "https://*/token", "https://*.example.com/token", "https://*:8443/token", "https://login.*/token",
		"https://a.example,b.example/token", "https://a.example;script-src/token", "https://a.example b.example/token",
		"https://a.example%20b.example/token", "https://a.example\u00a0b.example/token", "https://a.example\u2003b.example/token",
		"https://a.example\tb.example/token", "https://'self'/token", `https://a"b/token`, "https://a.example%0a/token",
	} {
		p := oidctest.New(t, oidctest.NewKey(t, "a"))
		p.Change = func(_ string, w *httptest.ResponseRecorder) {
			replaceBody(w, strings.Replace(w.Body.String(), oidctest.Issuer+"/token", strings.ReplaceAll(endpoint, `"`, `\"`), 1))
		}
		signIn := newSignIn(p)
		signIn.Update(t.Context())
		if _, token := signIn.Endpoints(); token != "" {
			t.Errorf("with the token endpoint %q, people sign in at %q", endpoint, token)
		}
	}
}
