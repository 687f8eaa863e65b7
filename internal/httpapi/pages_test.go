package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/api"
)

// The document says which operations answer pages.
func TestOperationsWithPages(t *testing.T) {
	ops, err := loadOperations(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		if want := op.id == "listPlants"; op.answersPage != want {
			t.Errorf("%s answers a page: %v, want %v", op.id, op.answersPage, want)
		}
	}
}

func TestPagesWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := cap(newPages())
		f, list, get := newInFlight(most+1), &operation{answersPage: true}, &operation{}
		for range most {
			if err := f.enter(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		// One more waits, is in flight only after that, and gives up in time.
		began := time.Now()
		if err := f.enter(t.Context(), list); !errors.Is(err, errUnavailable) || time.Since(began) != pageWait {
			t.Errorf("enter = %v after %v, want errUnavailable after %v", err, time.Since(began), pageWait)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.enter(gone, list); !errors.Is(err, context.Canceled) {
			t.Errorf("enter of a caller who has gone = %v, want context.Canceled", err)
		}
		go func() {
			time.Sleep(time.Second)
			f.leave(list)
		}()
		began = time.Now()
		waited := make(chan error)
		go func() { waited <- f.enter(t.Context(), list) }()
		synctest.Wait()
		if err := f.enter(t.Context(), get); err != nil {
			t.Errorf("enter of another request meanwhile = %v", err)
		}
		f.leave(get)
		if err := <-waited; err != nil || time.Since(began) != time.Second {
			t.Errorf("enter = %v after %v, want nil after a second", err, time.Since(began))
		}
		// Who is refused for the cap gives the place of the page back.
		f.leave(list)
		f.now.Store(f.most)
		if err := f.enter(t.Context(), list); !errors.Is(err, errUnavailable) || len(f.pages) != most-1 {
			t.Errorf("enter beyond the cap = %v with %d pages, want errUnavailable with %d", err, len(f.pages), most-1)
		}
	})
}

// deadlines is a writer whose client takes so many bytes and then no more.
type deadlines struct {
	*httptest.ResponseRecorder
	takes int
	at    time.Time
	set   int
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.at = at
	d.set++
	return nil
}

func (d *deadlines) Write(b []byte) (int, error) {
	if d.takes -= len(b); d.takes >= 0 {
		time.Sleep(paceTime - 1) // slowly
		return d.ResponseRecorder.Write(b)
	}
	time.Sleep(time.Until(d.at))
	return 0, os.ErrDeadlineExceeded
}

func TestPaced(t *testing.T) {
	const size = 4*paceBytes + 1
	for name, c := range map[string]struct {
		takes, parts int
		err          error
	}{
		"a slow client gets everything": {size, 5, nil},
		"one that stops does not":       {2 * paceBytes, 3, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &deadlines{ResponseRecorder: httptest.NewRecorder(), takes: c.takes}
				began := time.Now()
				n, err := (&exchange{ResponseWriter: w}).Write(make([]byte, size))
				if n != c.takes || !errors.Is(err, c.err) || w.Body.Len() != c.takes || w.set != c.parts {
					t.Errorf("Write = %d, %v in %d parts, want %d, %v in %d", n, err, w.set, c.takes, c.err, c.parts)
				}
				if took := time.Since(began); took > time.Duration(c.parts)*paceTime {
					t.Errorf("took %v", took)
				}
			})
		})
	}
	// Without deadlines it is written all the same.
	w := httptest.NewRecorder()
	var rw http.ResponseWriter = &exchange{ResponseWriter: w}
	if n, err := rw.Write(make([]byte, size)); n != size || err != nil || w.Body.Len() != size {
		t.Errorf("Write = %d, %v, want %d", n, err, size)
	}
}
