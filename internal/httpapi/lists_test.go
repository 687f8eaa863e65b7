package httpapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/plant"
)

// The operations that need a permit come from the document.
func TestListOperations(t *testing.T) {
	ops, err := loadOperations(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		if want := op.id == "listPlants"; op.returnsList != want {
			t.Errorf("%s returns a list: %v, want %v", op.id, op.returnsList, want)
		}
	}
}

func TestListsWaitInOrder(t *testing.T) {
	for _, long := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			most := 2 * runtime.GOMAXPROCS(0)
			f, get := newInFlight(most+2, 0), &responseRecorder{operation: &operation{}}
			var lists []*responseRecorder
			list := func() *responseRecorder { return &responseRecorder{operation: &operation{returnsList: true}} }
			for range most {
				lists = append(lists, list())
				if err := f.enter(t.Context(), lists[len(lists)-1], long); err != nil {
					t.Fatal(err)
				}
			}
			// One more waits, without being in flight, and gives up after listWait.
			began := time.Now()
			if err := f.enter(t.Context(), list(), long); !errors.Is(err, errUnavailable) || time.Since(began) != listWait {
				t.Errorf("enter = %v after %v, want errUnavailable after %v", err, time.Since(began), listWait)
			}
			go func() {
				time.Sleep(time.Second)
				f.leave(lists[0])
			}()
			began = time.Now()
			waited, next := make(chan error), list()
			go func() { waited <- f.enter(t.Context(), next, long) }()
			synctest.Wait()
			// Other requests do not wait, nor do short lists wait for long ones.
			if err := f.enter(t.Context(), get, false); err != nil {
				t.Errorf("enter of another request meanwhile = %v", err)
			}
			other := list()
			if err := f.enter(t.Context(), other, !long); err != nil || time.Since(began) != 0 {
				t.Errorf("enter of a list of the other kind = %v after %v, want nil at once", err, time.Since(began))
			}
			f.leave(other)
			f.leave(get)
			if err := <-waited; err != nil || time.Since(began) != time.Second {
				t.Errorf("enter = %v after %v, want nil after a second", err, time.Since(began))
			}
			// A request that is refused for MaxInFlight releases its permit.
			f.leave(next)
			f.requests.now.Store(f.requests.most)
			free := map[bool]func(int64) bool{false: f.lists.short.TryAcquire, true: f.lists.long.TryAcquire}[long]
			if err := f.enter(t.Context(), next, long); !errors.Is(err, errUnavailable) || !free(1) {
				t.Errorf("enter beyond the cap = %v, want errUnavailable and a turn that is free again", err)
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
			if err != nil {
				t.Fatal(err)
			}
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
		for _, r := range []*reader{first, second, third1, fourth, sixth, nil} {
			r.leave()
			r.leave() // which does nothing
		}
		if !l.takeAll() {
			t.Errorf("%d bytes of %d readers were not given back", l.unread, len(l.readers))
		}
	})
}

// What is taken for a plant is at least its JSON, and little more for the usual ones.
func TestJSONSize(t *testing.T) {
	for name, text := range map[string]string{
		"ordinary": "Ficus lyrata", "empty": "", "control": strings.Repeat("\x00\x1f\n\u007f", 250), "quotes": strings.Repeat(`"\/<`, 250),
		"unicode": strings.Repeat("\u2028🌱é", 300), "long": strings.Repeat("x", 1000),
	} {
		p := plant.Plant{ID: -1 << 63, Name: text, Tag: &text, ETag: strings.Repeat("v", 30), CreatedAt: time.Now(), UpdatedAt: time.Now()}
		stored := toStoredPlant(p)
		if got, most := len(plantserver.AppendJSON(nil, &stored)), jsonSize(&p); got > most {
			t.Errorf("%s: the JSON has %d bytes, jsonSize says %d", name, got, most)
		}
		page := &feed.Page{Changes: []plant.Change{{ID: p.ID, Position: plant.Position{Epoch: 1 << 62, At: 1 << 62, Index: 1 << 30, Seen: 1 << 62}, Plant: &p}}}
		change := toChange(page.Changes[0])
		if got, most := len(plantserver.AppendJSON(nil, &change)), pageJSONSize(page); got > most {
			t.Errorf("%s: the change has %d bytes, pageJSONSize says %d", name, got, most)
		}
	}
	// An ordinary list of a thousand plants is small.
	tag := "Moraceae"
	if size := 1000 * jsonSize(&plant.Plant{Name: "Ficus lyrata", Tag: &tag}); size > smallResponse {
		t.Errorf("a thousand plants take %d bytes, more than smallResponse", size)
	}
}
