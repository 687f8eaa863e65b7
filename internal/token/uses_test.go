package token_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/token"
)

// A token in steady use on two nodes is written once a minute, not on the time
// of a request, and Close writes what is left.
func TestLastUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &watched{Store: open(t)}
		text := create(t, store, nil)
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
				wantVerify(t, v, text, nil)
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
		wantVerify(t, second, text, nil)
		want := time.Now()
		if lastUse().Equal(want) {
			t.Error("the last use was written on the time of the request")
		}
		must.NoError(t, second.Close())
		if took := time.Since(want); took != 0 {
			t.Errorf("Close took %v, want it to write at once", took)
		}
		if got := lastUse(); !got.Equal(want.Truncate(time.Microsecond)) {
			t.Errorf("after Close the last use is %v, want %v", got, want)
		}
		time.Sleep(token.TouchInterval)
		wantVerify(t, second, text, nil)
		time.Sleep(2 * time.Second)
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
		text := create(t, store, nil)
		v := token.NewVerifier(store, "")
		use := func() {
			wantVerify(t, v, text, nil)
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
		expect.Error(t, "Close", v.Close(), token.ErrUnavailable)
	})
}
