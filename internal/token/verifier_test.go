package token_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/token"
)

const static = "a-static-token-of-ours"

func TestVerify(t *testing.T) {
	store := open(t)
	create := func(change func(*token.Token)) string {
		stored, text := token.New("n", []token.Scope{token.Read}, time.Hour)
		change(&stored)
		if err := store.CreateToken(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		return text
	}
	_, unknown := token.New("never stored", nil, 0)
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"good":         {create(func(*token.Token) {}), nil},
		"for ever":     {create(func(s *token.Token) { s.ExpiresAt = time.Time{} }), nil},
		"static":       {static, nil},
		"unknown":      {unknown, token.ErrInvalid},
		"wrong secret": {create(func(s *token.Token) { s.SecretHash[0] ^= 1 }), token.ErrInvalid},
		"revoked":      {create(func(s *token.Token) { s.RevokedAt = time.Now() }), token.ErrInvalid},
		"expired":      {create(func(s *token.Token) { s.ExpiresAt = time.Now() }), token.ErrInvalid},
		"malformed":    {"pst_nonsense", token.ErrInvalid},
		"nothing":      {"", token.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := verifier(t, store, static).Verify(t.Context(), c.text); !errors.Is(err, c.want) {
				t.Errorf("Verify = %v, want %v", err, c.want)
			}
		})
	}
}

func TestVerifyReturnsToken(t *testing.T) {
	store := open(t)
	want, text := token.New("reader", []token.Scope{token.Read}, time.Hour)
	if err := store.CreateToken(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got, err := verifier(t, store, static).Verify(t.Context(), text)
	if err != nil || got.ID != want.ID || !got.Allows(token.Read) || got.Allows(token.Write) {
		t.Errorf("Verify = %+v, %v, want the token %s, which may only read", got, err, want.ID)
	}
	got, err = verifier(t, store, static).Verify(t.Context(), static)
	if err != nil || !got.Allows(token.Read) || !got.Allows(token.Write) {
		t.Errorf("Verify of the static token = %+v, %v, want every scope", got, err)
	}
}

// If the store fails, Verify returns its error and not ErrInvalid.
func TestVerifyStoreError(t *testing.T) {
	_, text := token.New("n", nil, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := verifier(t, open(t), "").Verify(ctx, text)
	if err == nil || errors.Is(err, token.ErrInvalid) {
		t.Errorf("Verify of a token that could not be looked up = %v, want the store's error", err)
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		stored, text := token.New("n", nil, time.Hour)
		if err := store.CreateToken(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour - time.Microsecond)
		if _, err := verifier(t, store, "").Verify(t.Context(), text); err != nil {
			t.Errorf("just before it expires Verify = %v", err)
		}
		time.Sleep(time.Microsecond)
		if _, err := verifier(t, store, "").Verify(t.Context(), text); !errors.Is(err, token.ErrInvalid) {
			t.Errorf("once expired Verify = %v, want %v", err, token.ErrInvalid)
		}
	})
}

func TestStaticToken(t *testing.T) {
	for text, ok := range map[string]bool{
		"":                   true, // there is none
		"0123456789abcdef":   true,
		"0123456789abcde==":  true,
		"0123456789abcde":    false,
		"0123456789 abcdef":  false,
		"0123456789abcdef\n": false,
		"0123456789äbcdef":   false,
		"================":   false,
	} {
		if _, err := token.NewVerifier(open(t), text); (err == nil) != ok {
			t.Errorf("NewVerifier with %q = %v", text, err)
		}
	}
}

// watched is a real store that counts lookups and writes, delays lookups and
// fails on demand.
type watched struct {
	token.Store
	lookups, touches atomic.Int64
	delay            time.Duration
	touchErr         error
}

func (s *watched) Token(ctx context.Context, id string) (token.Token, error) {
	s.lookups.Add(1)
	t, err := s.Store.Token(ctx, id)
	time.Sleep(s.delay)
	return t, errors.Join(err, ctx.Err())
}

func (s *watched) TouchTokens(ctx context.Context, used map[string]time.Time) error {
	s.touches.Add(1)
	if s.touchErr != nil {
		return s.touchErr
	}
	return s.Store.TouchTokens(ctx, used)
}

func TestVerifyReadsStoreTwiceASecond(t *testing.T) {
	for name, c := range map[string]struct {
		text func(t *testing.T, store token.Store) string
		ok   bool
		want int64 // look-ups in a second
	}{
		"good":         {func(t *testing.T, s token.Store) string { return create(t, s, time.Hour) }, true, 2},
		"expired":      {func(t *testing.T, s token.Store) string { return create(t, s, -time.Hour) }, false, 2},
		"unknown":      {func(*testing.T, token.Store) string { _, text := token.New("n", nil, 0); return text }, false, 2},
		"static":       {func(*testing.T, token.Store) string { return static }, true, 0},
		"malformed":    {func(*testing.T, token.Store) string { return "pst_nonsense" }, false, 0},
		"mistyped":     {func(t *testing.T, s token.Store) string { return create(t, s, time.Hour)[:64] + "~" }, false, 0},
		"wrong secret": {func(t *testing.T, s token.Store) string { return forge(t, s) }, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &watched{Store: open(t)}
				text := c.text(t, store)
				v := verifier(t, store, static)
				for range 1000 {
					if _, err := v.Verify(t.Context(), text); (err == nil) != c.ok {
						t.Fatalf("Verify = %v", err)
					}
					time.Sleep(time.Millisecond)
				}
				if got := store.lookups.Load(); got != c.want {
					t.Errorf("1000 verifications in a second took %d lookups in the store, want %d", got, c.want)
				}
			})
		})
	}
}

// Concurrent first requests with one token share a lookup, also when the client of
// the first one disconnects.
func TestConcurrentVerifyReadsStoreOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: open(t), delay: 100 * time.Millisecond}
		text := create(t, store, time.Hour)
		v := verifier(t, store, "")
		first, hangUp := context.WithCancel(t.Context())
		go func() { _, _ = v.Verify(first, text) }()
		synctest.Wait()
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				if _, err := v.Verify(t.Context(), text); err != nil {
					t.Errorf("Verify = %v", err)
				}
			})
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := v.Verify(impatient, text); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the deadline of its context Verify = %v", err)
		}
		hangUp()
		wg.Wait()
		if got := store.lookups.Load(); got != 1 {
			t.Errorf("1000 first requests took %d lookups in the store, want 1", got)
		}
	})
}

// If the store panics in a lookup, the other requests that wait for it fail.
func TestVerifyAfterPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &panics{Store: open(t)}
		v := verifier(t, store, "")
		text := create(t, store, time.Hour)
		go func() {
			defer func() { _ = recover() }()
			_, _ = v.Verify(t.Context(), text)
		}()
		time.Sleep(time.Millisecond)
		if _, err := v.Verify(t.Context(), text); !errors.Is(err, token.ErrUnavailable) {
			t.Errorf("Verify while the lookup of another request panicked = %v, want %v", err, token.ErrUnavailable)
		}
		store.calm.Store(true)
		if _, err := v.Verify(t.Context(), text); err != nil {
			t.Errorf("the next Verify = %v", err)
		}
	})
}

type panics struct {
	token.Store
	calm atomic.Bool
}

func (s *panics) Token(ctx context.Context, id string) (token.Token, error) {
	if !s.calm.Load() {
		time.Sleep(10 * time.Millisecond)
		panic("a bug")
	}
	return s.Store.Token(ctx, id)
}

// A lookup ends after lookupTime, even if the request has more time.
func TestVerifyTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		text := create(t, store, time.Hour)
		began := time.Now()
		_, err := verifier(t, hangs{store}, "").Verify(t.Context(), text)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 10*time.Second {
			t.Errorf("Verify = %v after %v, want %v", err, took, context.DeadlineExceeded)
		}
	})
}

type hangs struct{ token.Store }

func (hangs) Token(ctx context.Context, _ string) (token.Token, error) {
	<-ctx.Done()
	return token.Token{}, ctx.Err()
}

// An error of the store is not cached: the next request reads the store again.
func TestVerifyDoesNotCacheErrors(t *testing.T) {
	store := open(t)
	text := create(t, store, time.Hour)
	faulty := &fails{Store: store, err: token.ErrUnavailable}
	v := verifier(t, faulty, "")
	if _, err := v.Verify(t.Context(), text); !errors.Is(err, token.ErrUnavailable) {
		t.Errorf("Verify without a store = %v, want %v", err, token.ErrUnavailable)
	}
	faulty.err = nil
	if _, err := v.Verify(t.Context(), text); err != nil {
		t.Errorf("once the store is back Verify = %v", err)
	}
}

type fails struct {
	token.Store
	err error
}

func (s *fails) Token(ctx context.Context, id string) (token.Token, error) {
	if s.err != nil {
		return token.Token{}, s.err
	}
	return s.Store.Token(ctx, id)
}

// Half a second after a change of a token, every server applies it.
func TestTokenChangesTakeEffect(t *testing.T) {
	now := func() time.Time { return time.Now() }
	for name, change := range map[string]func(*token.Token){
		"revoked":          func(s *token.Token) { s.Revoke(now()) },
		"expired":          func(s *token.Token) { s.Renew(now(), time.Nanosecond) },
		"rotated":          func(s *token.Token) { _, _ = s.Rotate(now(), 0) },
		"stripped of read": func(s *token.Token) { s.Scopes = nil },
	} {
		for _, delay := range []time.Duration{0, 100 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s, store takes %v", name, delay), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := open(t)
					stored, text := token.New("n", []token.Scope{token.Read}, time.Hour)
					if err := store.CreateToken(t.Context(), stored); err != nil {
						t.Fatal(err)
					}
					var changed atomic.Pointer[time.Time]
					var wg sync.WaitGroup
					for node := range 3 {
						v := verifier(t, &watched{Store: store, delay: delay}, "")
						wg.Go(func() {
							time.Sleep(time.Duration(node) * 77 * time.Millisecond)
							for range 1000 {
								asked := time.Now()
								got, err := v.Verify(t.Context(), text)
								ok := err == nil && got.Allows(token.Read)
								switch at := changed.Load(); {
								case at == nil && !ok:
									t.Errorf("before the change Verify = %v", err)
								case at != nil && ok && asked.Sub(*at) >= 500*time.Millisecond:
									t.Errorf("%v after the change the token still works", asked.Sub(*at))
								}
								time.Sleep(3 * time.Millisecond)
							}
						})
					}
					time.Sleep(1234 * time.Millisecond)
					err := store.UpdateToken(t.Context(), stored.ID, func(s *token.Token) error { change(s); return nil })
					if err != nil {
						t.Fatal(err)
					}
					changed.Store(new(time.Now()))
					wg.Wait()
				})
			})
		}
	}
}

func TestNewTokenTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		v := verifier(t, store, "")
		stored, text := token.New("n", nil, 0)
		if _, err := v.Verify(t.Context(), text); !errors.Is(err, token.ErrInvalid) {
			t.Fatalf("Verify before the token exists = %v", err)
		}
		if err := store.CreateToken(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		if _, err := v.Verify(t.Context(), text); err != nil {
			t.Errorf("half a second after it was made Verify = %v", err)
		}
	})
}

// Both secrets work until the grace is over, and then the new one.
func TestRotationGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		stored, before := token.New("n", nil, 24*time.Hour)
		if err := store.CreateToken(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		var after string
		err := store.UpdateToken(t.Context(), stored.ID, func(s *token.Token) (err error) {
			after, err = s.Rotate(time.Now(), time.Hour)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		v := verifier(t, store, "")
		for _, c := range []struct {
			wait time.Duration
			old  error
		}{{0, nil}, {time.Hour - time.Microsecond, nil}, {time.Microsecond, token.ErrInvalid}} {
			time.Sleep(c.wait)
			if _, err := v.Verify(t.Context(), before); !errors.Is(err, c.old) {
				t.Errorf("the old secret: %v, want %v", err, c.old)
			}
			if _, err := v.Verify(t.Context(), after); err != nil {
				t.Errorf("the new secret: %v", err)
			}
		}
	})
}

// A token in steady use on two nodes is written once a minute, not on the time
// of a request, and Close writes what is left.
func TestLastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: open(t)}
		text := create(t, store, time.Hour)
		lastUse := func() time.Time {
			all, err := store.Tokens(t.Context())
			if err != nil || len(all) != 1 {
				t.Fatalf("Tokens = %v, %v", all, err)
			}
			return all[0].LastUsedAt
		}
		first, second := verifier(t, store, ""), verifier(t, store, "")
		began := time.Now()
		var written []time.Time
		for range 300 {
			for _, v := range []*token.Verifier{first, second} {
				if _, err := v.Verify(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
			synctest.Wait()
			at := lastUse()
			if len(written) == 0 || !at.Equal(written[len(written)-1]) {
				written = append(written, at)
			}
			if late := time.Since(at); late > token.TouchInterval+2*time.Second {
				t.Fatalf("the last use is %v behind", late)
			}
		}
		if len(written) != 5 || !written[0].Equal(began.Truncate(time.Microsecond)) {
			t.Errorf("in 5 minutes the last uses written are %v", written)
		}
		if got := store.touches.Load(); got > 10 {
			t.Errorf("in 5 minutes two nodes wrote %d times", got)
		}

		time.Sleep(time.Hour / 2)
		if _, err := second.Verify(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		want := time.Now()
		if lastUse().Equal(want) {
			t.Error("the last use was written on the time of the request")
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(want); took != 0 {
			t.Errorf("Close took %v, want it to write at once", took)
		}
		if got := lastUse(); !got.Equal(want.Truncate(time.Microsecond)) {
			t.Errorf("after Close the last use is %v, want %v", got, want)
		}
		time.Sleep(token.TouchInterval)
		if _, err := second.Verify(t.Context(), text); err != nil {
			t.Errorf("after Close Verify = %v", err)
		}
		synctest.Wait()
		if got := lastUse(); !got.Equal(want.Truncate(time.Microsecond)) {
			t.Errorf("a use after Close was written: %v", got)
		}
	})
}

// If a last use cannot be written, Verify succeeds all the same; it is written
// when the store is back.
func TestLastUseWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: open(t), touchErr: token.ErrUnavailable}
		text := create(t, store, time.Hour)
		v, err := token.NewVerifier(store, "")
		if err != nil {
			t.Fatal(err)
		}
		use := func() {
			if _, err := v.Verify(t.Context(), text); err != nil {
				t.Errorf("Verify = %v", err)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		use()
		use()
		if got := store.touches.Load(); got != 2 {
			t.Errorf("tried to write %d times, want 2", got)
		}
		store.touchErr = nil
		use()
		all, err := store.Tokens(t.Context())
		if err != nil || all[0].LastUsedAt.IsZero() {
			t.Errorf("the store is back and has %v, %v", all, err)
		}
		store.touchErr = token.ErrUnavailable
		time.Sleep(token.TouchInterval)
		use()
		if err := v.Close(); !errors.Is(err, token.ErrUnavailable) {
			t.Errorf("Close = %v, want %v", err, token.ErrUnavailable)
		}
	})
}

func TestVerifyAllocations(t *testing.T) {
	store := open(t)
	text := create(t, store, time.Hour)
	v := verifier(t, store, static)
	for name, text := range map[string]string{"stored": text, "static": static, "malformed": "pst_nonsense"} {
		got := testing.AllocsPerRun(1000, func() { _, _ = v.Verify(t.Context(), text) })
		if got > 2 {
			t.Errorf("verifying a token, %s, takes %v allocations, want 2 at most", name, got)
		}
	}
}

// BenchmarkVerify verifies tokens that are in the cache, as all
// but two a second are.
func BenchmarkVerify(b *testing.B) {
	store := open(b)
	stored := create(b, store, time.Hour)
	_, unknown := token.New("n", nil, 0)
	for _, c := range []struct{ name, text, static string }{
		{"stored", stored, ""},
		{"stored-beside-static", stored, static},
		{"static", static, static},
		{"unknown", unknown, ""},
		{"malformed", "pst_nonsense", ""},
	} {
		b.Run("token="+c.name, func(b *testing.B) {
			v := verifier(b, store, c.static)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = v.Verify(b.Context(), c.text)
			}
		})
	}
}

// create stores a token and returns its text.
func create(t testing.TB, store token.Store, lifetime time.Duration) string {
	t.Helper()
	stored, text := token.New("n", []token.Scope{token.Read}, lifetime)
	if err := store.CreateToken(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	return text
}

// forge returns a well-formed text that has the ID of a stored token and
// another secret.
func forge(t testing.TB, store token.Store) string {
	t.Helper()
	stored, text := token.New("n", []token.Scope{token.Read}, time.Hour)
	stored.SecretHash[0] ^= 1
	if err := store.CreateToken(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	return text
}

func open(t testing.TB) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func verifier(t testing.TB, store token.Store, static string) *token.Verifier {
	t.Helper()
	v, err := token.NewVerifier(store, static)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// A temporary token is accepted by its Verifier until its lifetime is over, and
// is not stored.
func TestTemporaryToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		v, err := token.NewVerifier(store, "")
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		text := v.Temporary("serve", time.Hour)
		got, err := v.Verify(t.Context(), text)
		if err != nil || got.Name != "serve" || !got.Allows(token.Write) {
			t.Errorf("Verify = %v, %v, want the temporary token", got, err)
		}
		if _, err := v.Verify(t.Context(), text[:len(text)-1]+"0"); !errors.Is(err, token.ErrInvalid) {
			t.Errorf("Verify of a mistyped token = %v", err)
		}
		if stored, err := store.Tokens(t.Context()); err != nil || len(stored) != 0 {
			t.Errorf("the store has the tokens %v, %v", stored, err)
		}
		time.Sleep(time.Hour)
		if _, err := v.Verify(t.Context(), text); !errors.Is(err, token.ErrInvalid) {
			t.Errorf("Verify after an hour = %v", err)
		}
	})
}

// issuer accepts one token.
type issuer struct{ asked []string }

func (i *issuer) Verify(_ context.Context, text string) (token.Token, error) {
	if i.asked = append(i.asked, text); text != "theirs" {
		return token.Token{}, &token.RefusedError{Reason: "a reason"}
	}
	return token.Token{ID: "robot", Scopes: []token.Scope{token.Read}}, nil
}

// An issuer gets only tokens that are not ours.
func TestAccept(t *testing.T) {
	store, theirs := open(t), &issuer{}
	v := verifier(t, store, "a-static-token-of-ours")
	stored, mine := token.New("mine", nil, time.Hour)
	if err := store.CreateToken(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(t.Context(), "theirs"); err != token.ErrInvalid {
		t.Errorf("without an issuer the error is %v", err)
	}
	v.Accept(theirs)
	_, unknown := token.New("unknown", nil, time.Hour)
	for text, want := range map[string]string{
		mine: stored.ID, "a-static-token-of-ours": "", "theirs": "robot", "others": "error",
		unknown: "error", mine[:len(mine)-1]: "error", "pst_": "error", "pst_eyJ.e30.x": "error",
	} {
		got, err := v.Verify(t.Context(), text)
		if (err != nil) != (want == "error") || err != nil && !errors.Is(err, token.ErrInvalid) || err == nil && got.ID != want {
			t.Errorf("Verify(%q) = %+v, %v, want %q", text, got, err, want)
		}
	}
	if slices.Sort(theirs.asked); !slices.Equal(theirs.asked, []string{"others", "theirs"}) {
		t.Errorf("the issuer got %q", theirs.asked)
	}
}
