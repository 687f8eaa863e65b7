package httpapi_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// The response is the same for all kinds of invalid credentials.
func TestInvalidCredentialsGetOneResponse(t *testing.T) {
	s := newService(t)
	texts := map[string]string{"unknown": unknownToken(), "malformed": "nonsense"}
	for name, change := range map[string]func(*token.Token){
		"expired":      func(s *token.Token) { s.ExpiresAt = time.Now() },
		"revoked":      func(s *token.Token) { s.Revoke(time.Now()) },
		"wrong secret": func(s *token.Token) { s.SecretHash[0] ^= 1 },
		"old secret":   func(s *token.Token) { _, _ = s.Rotate(time.Now(), 0) },
	} {
		stored, text := token.New(name, []token.Scope{token.Write}, time.Hour)
		change(&stored)
		must.NoError(t, s.store.CreateToken(t.Context(), stored))
		texts[name] = text
	}
	first := ""
	for name, text := range texts {
		got := alike(s.post(`{"id":1,"name":"n"}`, header("Authorization", "Bearer "+text)))
		if first = cmp.Or(first, got); got != first {
			t.Errorf("%s: got\n%swant the response to the others\n%s", name, got, first)
		}
	}
}

// untouchable is a body that must not be read.
type untouchable struct{ t *testing.T }

func (u untouchable) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.ErrUnexpectedEOF
}

func (untouchable) Close() error { return nil }

// Before authorization the body is not read, so the response names only what is
// wrong with the credentials.
func TestBodyIsNotReadBeforeAuthorization(t *testing.T) {
	store := openStore(t)
	s := newService(t, offline, withStore(store))
	for authorization, want := range map[string]plantapi.ErrorCode{
		"":                plantapi.CodeNoCredentials,
		"Bearer nonsense": plantapi.CodeBadCredentials,
		"Bearer " + newToken(t, store, token.Read): plantapi.CodeInsufficientScope,
	} {
		for _, length := range []int64{-1, 5, 1 << 40} {
			s.post("", header("Authorization", authorization), func(r *http.Request) {
				r.Body, r.ContentLength = untouchable{t}, length
			}).wantError(t, want)
		}
	}
}

// A client that waits for 100 Continue is refused without it.
func TestNoContinueBeforeAuthentication(t *testing.T) {
	newService(t).speak("POST /plants HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"+
		"Content-Type: application/json\r\nContent-Length: 19\r\n\r\n", false).wantError(t, plantapi.CodeNoCredentials)
}

// If the store of tokens fails, the response is a 5xx and not 401. A client that has closed its sending half of the
// connection, and still reads, gets it, too: net/http cancels the context of its request, which is not that of the
// work on it.
func TestTokenStoreDown(t *testing.T) {
	store := openStore(t)
	for err, want := range map[error]plantapi.ErrorCode{
		token.ErrUnavailable:        plantapi.CodeUnavailable,
		errors.New("a bug of ours"): plantapi.CodeInternal,
		context.Canceled:            plantapi.CodeUnavailable,
	} {
		s := newService(t, offline, withStore(store), withTokens(faultyTokens{store, err}))
		s.post("", header("Authorization", "Bearer "+unknownToken()), func(r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			*r = *r.WithContext(ctx)
			r.Body, r.ContentLength = untouchable{t}, -1
		}).wantError(t, want)
	}
}
