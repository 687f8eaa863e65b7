package httpapi

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/internal/feed"
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
	synctest.Test(t, func(t *testing.T) {
		most := 2 * runtime.GOMAXPROCS(0)
		f, get := newInFlight(most+1, 0), &responseRecorder{operation: &operation{}}
		var lists []*responseRecorder
		list := func() *responseRecorder { return &responseRecorder{operation: &operation{returnsList: true}} }
		for range most {
			lists = append(lists, list())
			if err := f.enter(t.Context(), lists[len(lists)-1]); err != nil {
				t.Fatal(err)
			}
		}
		// One more waits, without being in flight, and gives up after listWait.
		began := time.Now()
		if err := f.enter(t.Context(), list()); !errors.Is(err, errUnavailable) || time.Since(began) != listWait {
			t.Errorf("enter = %v after %v, want errUnavailable after %v", err, time.Since(began), listWait)
		}
		go func() {
			time.Sleep(time.Second)
			f.leave(lists[0])
		}()
		began = time.Now()
		waited, next := make(chan error), list()
		go func() { waited <- f.enter(t.Context(), next) }()
		synctest.Wait()
		if err := f.enter(t.Context(), get); err != nil {
			t.Errorf("enter of another request meanwhile = %v", err)
		}
		f.leave(get)
		if err := <-waited; err != nil || time.Since(began) != time.Second {
			t.Errorf("enter = %v after %v, want nil after a second", err, time.Since(began))
		}
		// A request that is refused for MaxInFlight releases its permit.
		f.leave(next)
		f.requests.now.Store(f.requests.most)
		if err := f.enter(t.Context(), next); !errors.Is(err, errUnavailable) || !f.lists.permits.TryAcquire(1) {
			t.Errorf("enter beyond the cap = %v, want errUnavailable and a turn that is free again", err)
		}
	})
}

// A list that is being written has no permit any more, if the lists being written
// have room in maxUnread.
func TestListPermitWhileWriting(t *testing.T) {
	p := newListSemaphore()
	const large = maxUnread / 2
	var turns []*listPermit
	for i, c := range []struct {
		bytes  int
		making bool
	}{
		{large, false}, {large, false}, {smallResponse, false}, {smallResponse + 1, true},
	} {
		turn, err := p.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if turn.made(c.bytes); turn.making != c.making {
			t.Errorf("page %d of %d bytes has a turn while it is written: %v, want %v", i, c.bytes, turn.making, c.making)
		}
		turns = append(turns, &turn)
	}
	for _, turn := range turns {
		turn.leave()
		turn.leave() // which does nothing
	}
	if !p.takeAll() {
		t.Error("not everything was given back")
	}
}

// A page that several requests write takes room once. Without room, each takes a permit.
func TestSharedPageTakesRoomOnce(t *testing.T) {
	p := newListSemaphore()
	const large = maxUnread/2 + 1
	first, second := new(feed.Page), new(feed.Page)
	var held []listPermit
	for i, c := range []struct {
		page   *feed.Page
		making bool
	}{{first, false}, {first, false}, {second, true}, {first, false}} {
		permit, err := p.share(t.Context(), c.page, large)
		if err != nil || permit.making != c.making {
			t.Fatalf("request %d has a permit: %v, %v, want %v", i, permit.making, err, c.making)
		}
		held = append(held, permit)
	}
	held[0].leave()
	held[1].leave()
	if p.unread.TryAcquire(maxUnread - large + 1) {
		t.Error("the page has no room, although a request writes it")
	}
	held[3].leave()
	held[2].leave()
	if !p.takeAll() {
		t.Error("not everything was given back")
	}
}
