package oidc_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
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
	var parts []string
	for _, part := range []any{map[string]string{"alg": "ES256", "kid": keyID}, oidctest.Claims(nil)} {
		text, err := json.Marshal(part)
		must.NoError(t, err)
		parts = append(parts, base64.RawURLEncoding.EncodeToString(text))
	}
	return strings.Join(parts, ".") + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64))
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

// For a minute, 50 tokens in a second have unknown key IDs. The keys are fetched every
// ten seconds, and good tokens are verified at once.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := oidctest.New(t, newKey(t, "a"))
		issuer := newIssuer(t, p)
		var flood sync.WaitGroup
		for i := range 600 {
			for j := range 5 {
				flood.Go(func() {
					wantRefused(t, issuer, unsigned(t, strconv.Itoa(i*5+j)), "no key")
				})
			}
			began := time.Now()
			if i%5 == 0 {
				if _, err := verify(t, issuer, p.Token(oidctest.Claims(nil))); err != nil || time.Since(began) > 0 {
					t.Errorf("a good token gets %v after %v", err, time.Since(began))
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		flood.Wait()
		wantPauses(t, p, 8)
	})
}

// However long the last fetch is ago, a token with a new key is accepted; it waits until
// the keys may be fetched again.
func TestRotation(t *testing.T) {
	for after := range 12 {
		t.Run(strconv.Itoa(after)+" seconds after a fetch", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := oidctest.New(t, newKey(t, "0"))
				issuer := newIssuer(t, p)
				for i := range 3 {
					if i > 0 {
						time.Sleep(time.Duration(after)*time.Second + 1)
						p.Rotate(newKey(t, strconv.Itoa(i)))
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
		old, fresh := newKey(t, "old"), newKey(t, "new")
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
		p := oidctest.New(t, newKey(t, "a"))
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
		p := oidctest.New(t, newKey(t, "a"))
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
		p := oidctest.New(t, newKey(t, "a"))
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

// Without the provider, and while its responses are wrong, the keys stay.
func TestProviderFails(t *testing.T) {
	changes := map[string]func(*httptest.ResponseRecorder){
		"an error": func(w *httptest.ResponseRecorder) { w.Code = http.StatusInternalServerError },
		"a redirect": func(w *httptest.ResponseRecorder) {
			w.Code = http.StatusFound
			w.Header().Set("Location", "http://evil.example/keys")
		},
		"a page": func(w *httptest.ResponseRecorder) {
			w.Body.Reset()
			w.Body.WriteString("<html>" + strings.Repeat("x", 5000))
		},
		"no keys": func(w *httptest.ResponseRecorder) { w.Body.Reset(); w.Body.WriteString(`{"keys":[]}`) },
		"only secrets": func(w *httptest.ResponseRecorder) {
			w.Body.Reset()
			w.Body.WriteString(`{"keys":[{"kty":"oct","k":"AAAA","kid":"b"}]}`)
		},
		"too much": func(w *httptest.ResponseRecorder) {
			w.Body.Reset()
			w.Body.WriteString(`{"keys":[` + strings.Repeat(" ", 1<<20) + `]}`)
		},
		"nothing": nil,
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newKey(t, "a"), newKey(t, "b")
				p := oidctest.New(t, a)
				issuer := newIssuer(t, p)
				known := p.Token(oidctest.Claims(nil))
				wantAccepted(t, issuer, known, "a good token")
				if change == nil {
					p.Stop(errors.New("no route"))
				}
				p.Change = func(_ string, w *httptest.ResponseRecorder) {
					if change != nil {
						change(w)
					}
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

// Of the discovery document, the issuer must be right, and its URL private.
func TestDiscovery(t *testing.T) {
	for name, document := range map[string]string{
		"another issuer": `{"issuer":"https://evil.example","jwks_uri":"` + oidctest.Issuer + `/keys"}`,
		"no keys":        `{"issuer":"` + oidctest.Issuer + `"}`,
		"plain http":     `{"issuer":"` + oidctest.Issuer + `","jwks_uri":"http://login.example.com/garden/keys"}`,
		"a file":         `{"issuer":"` + oidctest.Issuer + `","jwks_uri":"file:///etc/passwd"}`,
		"a long page":    "<html>" + strings.Repeat("x", 5000),
		"too much": `{"issuer":"` + oidctest.Issuer + `",` + strings.Repeat(" ", 1<<20) +
			`"jwks_uri":"` + oidctest.Issuer + `/keys"}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := oidctest.New(t, newKey(t, "a"))
			p.Change = func(path string, w *httptest.ResponseRecorder) {
				if strings.HasSuffix(path, "openid-configuration") {
					w.Body.Reset()
					w.Body.WriteString(document)
					if document[0] != '{' {
						w.Code = http.StatusBadGateway
					}
				}
			}
			_, err := verify(t, newIssuer(t, p), p.Token(oidctest.Claims(nil)))
			if !errors.Is(err, token.ErrUnavailable) || len(err.Error()) > 500 {
				t.Errorf("the error is %v", err)
			}
			if len(p.Fetches()) != 0 {
				t.Error("the keys were fetched")
			}
		})
	}
}

// Keys for other purposes and of unknown kinds are left out.
func TestOtherKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, enc := newKey(t, "a"), newKey(t, "enc")
		p := oidctest.New(t, key, enc)
		p.Change = func(path string, w *httptest.ResponseRecorder) {
			if !strings.HasSuffix(path, "/keys") {
				return
			}
			text := w.Body.String()
			i := strings.LastIndex(text, `"sig"`)
			text = text[:i] + strings.Replace(text[i:], `"sig"`, `"enc"`, 1)
			const others = `{"kty":"OKP","crv":"X448","kid":"x","x":"AAAA"},{"kty":"XXX"},7,` +
				`{"kty":"oct","k":"AAAA","kid":"o"},`
			text = strings.Replace(text, `{"keys":[`, `{"keys":[`+others, 1)
			w.Body.Reset()
			w.Body.WriteString(text)
		}
		issuer := newIssuer(t, p)
		wantAccepted(t, issuer, p.Token(oidctest.Claims(nil)), "a good token")
		for _, id := range []string{"x", "o", "enc"} {
			wantRefused(t, issuer, unsigned(t, id), "no key")
		}
		wantRefused(t, issuer, enc.Sign(t, oidctest.Claims(nil), nil), "no key")
	})
}
