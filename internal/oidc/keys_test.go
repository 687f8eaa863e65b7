package oidc_test

import (
	"cmp"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/oidctest"
	"github.com/plantstore/plantstore/internal/token"
)

// unsigned returns a token whose signature is not one.
func unsigned(t testing.TB, keyID string) string {
	t.Helper()
	header := fmt.Appendf(nil, `{"alg":"ES256","kid":%q}`, keyID)
	return encode(header) + "." + encode(claims(t)) + "." + encode(make([]byte, 64))
}

// wantPauses fails if two fetches were less than ten seconds apart.
func wantPauses(t testing.TB, p *oidctest.Provider, most int) {
	t.Helper()
	fetches := p.Fetches()
	for i := range fetches {
		if i > 0 && fetches[i].Sub(fetches[i-1]) < 10*time.Second {
			t.Errorf("two fetches were %v apart", fetches[i].Sub(fetches[i-1]))
		}
	}
	if len(fetches) > most {
		t.Errorf("there were %d fetches, want at most %d", len(fetches), most)
	}
}

// However long the last fetch is ago, a token with a new key is accepted; it waits until
// the keys may be fetched again.
func TestRotation(t *testing.T) {
	for after := range 12 {
		t.Run(strconv.Itoa(after)+" seconds after a fetch", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := oidctest.New(t, oidctest.NewKey(t, "0"))
				issuer := newIssuer(t, p)
				for i := range 3 {
					if i > 0 {
						time.Sleep(time.Duration(after)*time.Second + 1)
						p.Rotate(oidctest.NewKey(t, strconv.Itoa(i)))
					}
					began := time.Now()
					var clients sync.WaitGroup
					for range 10 {
						clients.Go(func() {
							_, err := verify(t, issuer, p.Token(oidctest.Claims(nil)))
							if err != nil || time.Since(began) > 10*time.Second {
								t.Errorf("after %v a token of key %d gets %v", time.Since(began), i, err)
							}
						})
					}
					clients.Wait()
				}
				wantPauses(t, p, 3)
			})
		})
	}
}

// A key that is published while a fetch runs is found by the next one.
func TestRotationDuringFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh := oidctest.NewKey(t, "old"), oidctest.NewKey(t, "new")
		p := oidctest.New(t, old)
		issuer := newIssuer(t, p)
		p.Delay = 2 * time.Second // after the response is made
		var both sync.WaitGroup
		both.Go(func() {
			wantAccepted(t, issuer, p.Token(oidctest.Claims(nil)), "a good token")
		})
		time.Sleep(3 * time.Second) // the response with the keys is on its way
		p.Rotate(fresh)
		wantAccepted(t, issuer, p.Token(oidctest.Claims(nil)), "a good token")
		both.Wait()
	})
}

// A key ID that the provider does not have is refused at once until the next fetch.
func TestAbsentKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := oidctest.New(t, oidctest.NewKey(t, "a"))
		issuer := newIssuer(t, p)
		for i := range 5 {
			began := time.Now()
			wantRefused(t, issuer, unsigned(t, "b"), `no key "b"`)
			if took := time.Since(began); took > 0 {
				t.Errorf("attempt %d took %v", i, took)
			}
			time.Sleep(time.Second)
		}
		wantPauses(t, p, 1)
		time.Sleep(5 * time.Second)
		wantRefused(t, issuer, unsigned(t, "b"), `no key "b"`)
		wantPauses(t, p, 2)
		// A wrong signature of a known key is no reason to fetch.
		time.Sleep(time.Minute)
		wantRefused(t, issuer, unsigned(t, "a"), "signature")
		wantRefused(t, issuer, unsigned(t, strings.Repeat("x", 257)), "longer")
		wantPauses(t, p, 2)
	})
}

// At most 512 tokens wait for a fetch.
func TestManyUnknownKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := oidctest.New(t, oidctest.NewKey(t, "a"))
		issuer := newIssuer(t, p)
		wantAccepted(t, issuer, p.Token(oidctest.Claims(nil)), "a good token")
		time.Sleep(time.Second)
		var waited, atOnce int
		var mu sync.Mutex
		var all sync.WaitGroup
		began := time.Now()
		for i := range 1000 {
			all.Go(func() {
				_, err := verify(t, issuer, unsigned(t, "unknown"+strconv.Itoa(i)))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case time.Since(began) == 0 && errors.Is(err, token.ErrUnavailable):
					atOnce++
				case time.Since(began) == 9*time.Second && errors.Is(err, token.ErrInvalid):
					waited++
				default:
					t.Errorf("after %v: %v", time.Since(began), err)
				}
			})
		}
		all.Wait()
		if waited != 512 || atOnce != 488 {
			t.Errorf("%d tokens waited, %d did not", waited, atOnce)
		}
		wantPauses(t, p, 2)
	})
}

// The service starts while the provider is down, and accepts tokens once it is there.
func TestProviderDownAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := oidctest.New(t, oidctest.NewKey(t, "a"))
		p.Stop(errors.New("connection refused"))
		issuer := newIssuer(t, p)
		for range 25 {
			began := time.Now()
			_, err := verify(t, issuer, p.Token(oidctest.Claims(nil)))
			refused := errors.Is(err, token.ErrUnavailable) && strings.Contains(err.Error(), "connection refused")
			if !refused || time.Since(began) > 0 {
				t.Errorf("after %v the error is %v", time.Since(began), err)
			}
			time.Sleep(time.Second)
		}
		if got := p.Requests(); got != 3 {
			t.Errorf("the provider got %d requests in 25 seconds", got)
		}
		p.Stop(nil)
		time.Sleep(5 * time.Second)
		wantAccepted(t, issuer, p.Token(oidctest.Claims(nil)), "with the provider")
	})
}

// replaceBody replaces what a response of the provider has.
func replaceBody(w *httptest.ResponseRecorder, text string) {
	w.Body.Reset()
	w.Body.WriteString(text)
}

// Without the provider, and while its responses are wrong, the keys stay. Of the discovery
// document, the issuer must be right, and the URL of the keys private.
func TestProviderFails(t *testing.T) {
	discovery := func(issuer, keys string) string {
		return `{"issuer":"` + issuer + `","jwks_uri":"` + keys + `"}`
	}
	const discoveryPath = "/openid-configuration"
	for name, c := range map[string]struct {
		path     string // the end of the path whose responses are wrong
		status   int
		text     string
		location string
		err      error
	}{
		"nothing":        {err: errors.New("no route")},
		"an error":       {status: http.StatusInternalServerError},
		"a redirect":     {path: discoveryPath, status: http.StatusFound, location: oidctest.Issuer + "/keys"},
		"keys elsewhere": {path: "/keys", status: http.StatusFound, location: "https://other.example/keys"},
		"keys in public": {path: "/keys", status: http.StatusSeeOther, location: "http://evil.example/keys"},
		"a page":         {status: http.StatusOK, text: "<html>" + strings.Repeat("x", 5000)},
		"no keys":        {path: "/keys", text: `{"keys":[]}`},
		"only secrets":   {path: "/keys", text: `{"keys":[{"kty":"oct","k":"AAAA","kid":"b"}]}`},
		"too many keys":  {path: "/keys", text: `{"keys":[` + strings.Repeat(" ", 1<<20) + `]}`},
		"another issuer": {path: discoveryPath, text: discovery("https://evil.example", oidctest.Issuer+"/keys")},
		"no URL":         {path: discoveryPath, text: discovery(oidctest.Issuer, "")},
		"plain http":     {path: discoveryPath, text: discovery(oidctest.Issuer, "http://login.example.com/garden/keys")},
		"a file":         {path: discoveryPath, text: discovery(oidctest.Issuer, "file:///etc/passwd")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := oidctest.NewKey(t, "a"), oidctest.NewKey(t, "b")
				p := oidctest.New(t, a)
				issuer := newIssuer(t, p)
				known := p.Token(oidctest.Claims(nil))
				wantAccepted(t, issuer, known, "a good token")
				p.Stop(c.err)
				p.Change = func(path string, w *httptest.ResponseRecorder) {
					if !strings.HasSuffix(path, c.path) {
						return
					}
					replaceBody(w, c.text)
					w.Code = cmp.Or(c.status, http.StatusOK)
					w.Header().Set("Location", c.location)
				}
				time.Sleep(20 * time.Second)
				_, err := verify(t, issuer, b.Sign(t, oidctest.Claims(nil), nil))
				if !errors.Is(err, token.ErrUnavailable) || len(err.Error()) > 500 {
					t.Errorf("a token of an unknown key gets %v", err)
				}
				for _, text := range []string{known, a.Sign(t, oidctest.Claims(nil), nil)} {
					wantAccepted(t, issuer, text, "a token of a known key")
				}
				p.Stop(nil)
				p.Change = nil
				p.Rotate(b, a)
				time.Sleep(10 * time.Second)
				before := p.Requests()
				wantAccepted(t, issuer, p.Token(oidctest.Claims(nil)), "with the provider")
				if got := p.Requests() - before; got != 2 { // the URL of the keys may have changed
					t.Errorf("after a failure there were %d requests, want 2", got)
				}
			})
		})
	}
}

// Keys for other purposes and of unknown kinds are left out, and so are secrets and a point that is
// not on its curve.
func TestOtherKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, off, enc := oidctest.NewKey(t, "a"), oidctest.NewKey(t, "off"), oidctest.NewKey(t, "enc")
		p := oidctest.New(t, key, off, enc)
		p.Change = func(path string, w *httptest.ResponseRecorder) {
			if !strings.HasSuffix(path, "/keys") {
				return
			}
			point, err := off.Public().(*ecdsa.PublicKey).Bytes()
			must.NoError(t, err)
			y := encode(point[len(point)-32:])
			text := w.Body.String()
			i := strings.LastIndex(text, `"sig"`)
			text = text[:i] + strings.Replace(text[i:], `"sig"`, `"enc"`, 1)
			const others = `{"kty":"OKP","crv":"X448","kid":"x","x":"AAAA"},{"kty":"XXX"},7,` +
				`{"kty":"oct","k":"AAAA","kid":"o"},`
			text = strings.Replace(text, `{"keys":[`, `{"keys":[`+others, 1)
			replaceBody(w, strings.Replace(text, y, encode(make([]byte, 32)), 1))
		}
		issuer := newIssuer(t, p)
		wantAccepted(t, issuer, p.Token(oidctest.Claims(nil)), "a good token")
		for _, id := range []string{"x", "o", "enc"} {
			wantRefused(t, issuer, unsigned(t, id), "no key")
		}
		for _, key := range []oidctest.Key{enc, off} {
			wantRefused(t, issuer, key.Sign(t, oidctest.Claims(nil), nil), "no key")
		}
	})
}
