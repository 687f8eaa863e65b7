package httpapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/limit"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A list waits for its permit, without being in flight. Other requests do not wait, nor do
// short lists wait for long ones.
func TestListsWait(t *testing.T) {
	for _, long := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l, n := newLists(), 2*runtime.GOMAXPROCS(0)
			for range n {
				_, err := l.enter(t.Context(), long)
				must.NoError(t, err)
			}
			began := time.Now()
			if _, err := l.enter(t.Context(), long); !errors.Is(err, limit.ErrFull) || time.Since(began) != listWait {
				t.Errorf("enter = %v after %v, want ErrFull after %v", err, time.Since(began), listWait)
			}
			began = time.Now()
			if _, err := l.enter(t.Context(), !long); err != nil || time.Since(began) != 0 {
				t.Errorf("enter of a list of the other kind = %v after %v, want nil at once", err, time.Since(began))
			}
		})
	}
}

// lastDeadline is a ResponseWriter that records its deadline.
type lastDeadline struct {
	http.ResponseWriter
	at time.Time
}

func (w *lastDeadline) SetWriteDeadline(at time.Time) error { w.at = at; return nil }

// A large response has room while it is written. Without room the clients that read
// nothing are cut off, those that have read nothing for the longest time first.
func TestSlowestReaderIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLists()
		reserve := func(page *feed.Page, bytes int) (*reader, *lastDeadline, error) {
			w := &lastDeadline{ResponseWriter: httptest.NewRecorder()}
			r, err := l.reserve(w, page, bytes)
			return r, w, err
		}
		full := func(page *feed.Page, bytes int) {
			t.Helper()
			if _, _, err := reserve(page, bytes); !errors.Is(err, errUnavailable) {
				t.Fatalf("reserve = %v, want errUnavailable", err)
			}
		}
		has := func(bytes int, page *feed.Page) (*reader, *lastDeadline) {
			t.Helper()
			r, w, err := reserve(page, bytes)
			must.NoError(t, err)
			return r, w
		}
		const third = maxUnread / 3
		cut := func(r *reader, w *lastDeadline) bool {
			err := r.next(http.NewResponseController(w), time.Now().Add(time.Minute))
			if err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || !w.at.Before(time.Now())) {
				t.Errorf("cut off with %v and the deadline %v", err, w.at)
			}
			return err != nil
		}
		first, firstWriter := has(third, nil)
		shared := new(feed.Page)
		time.Sleep(patience / 4)
		second, secondWriter := has(third, shared)
		time.Sleep(patience / 4)
		third1, thirdWriter := has(third, nil)
		// Another client with the same page needs no room.
		fourth, fourthWriter := has(third, shared)
		if r, _, err := reserve(nil, smallResponse); r != nil || err != nil {
			t.Errorf("a small response needs room: %v, %v", r, err)
		}
		full(nil, third)
		time.Sleep(patience / 2)
		if cut(first, firstWriter) { // it reads
			t.Error("a client is cut off although all fit")
		}
		full(nil, third)
		// Now second is patience late, but fourth has its page, too.
		time.Sleep(patience / 4)
		full(nil, third)
		time.Sleep(patience / 4)
		sixth, _ := has(third, nil)
		for name, c := range map[string]struct {
			*reader
			w   *lastDeadline
			cut bool
		}{"first": {first, firstWriter, false}, "second": {second, secondWriter, true}, "third": {third1, thirdWriter, true}, "fourth": {fourth, fourthWriter, false}} {
			if got := cut(c.reader, c.w); got != c.cut {
				t.Errorf("%s is cut off: %v, want %v", name, got, c.cut)
			}
		}
		for _, r := range []*reader{first, second, third1, fourth, sixth} {
			r.leave()
			r.leave() // which does nothing
		}
		if !l.takeAll() {
			t.Errorf("%d bytes of %d readers were not given back", l.unread, len(l.readers))
		}
	})
}
