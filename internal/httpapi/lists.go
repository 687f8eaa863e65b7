package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/limit"
)

// listsPerCPU is how many short lists, and how many long ones, are made at the same
// time on each processor. Making a list needs the processor, so more of them at the
// same time would only delay all other requests. The largest list takes 7.7 MB of JSON.
const listsPerCPU = 2

// listWait is how long a request waits for a permit.
const listWait = 5 * time.Second

// maxUnread is how many bytes the large responses take that are being written. The
// operator's manual says so.
const maxUnread = 256 << 20

// patience is how long a client may read nothing while maxUnread is full.
const patience = time.Second

// A client must read a large response at 50 kB a second on average: after paceGrace
// + n/paceRate the first n bytes must be written, or the connection is cut off. A
// deadline for each single write would be wrong, because the buffers of a connection
// empty in bursts of megabytes.
const (
	paceRate  = 50_000 // bytes a second
	paceGrace = 10 * time.Second

	// smallResponse is the largest response that needs no room in maxUnread, and to
	// which the write time-out of the server applies. Larger ones are written in parts
	// of this size.
	smallResponse = 256 << 10
)

// lists limits the lists of plants and the pages of changes: how many are made at the
// same time, and how much memory they take while clients read them. To make a list, a
// request needs a permit, which is a slot of short or long. It waits for the permit before
// it takes a slot of its own, so it does not keep other requests from being admitted.
type lists struct {
	short, long *limit.Slots // short lists, of the default limit, do not wait for long ones

	mu      sync.Mutex
	unread  int // bytes of maxUnread
	readers []*reader
}

func newLists() *lists {
	n := listsPerCPU * runtime.GOMAXPROCS(0)
	return &lists{short: limit.NewSlots("lists", n, listWait), long: limit.NewSlots("long lists", n, listWait)}
}

// enter waits for a permit.
func (l *lists) enter(ctx context.Context, long bool) (limit.Slot, error) {
	if long {
		return l.long.Take(ctx)
	}
	return l.short.Take(ctx)
}

// reader is a client to which a large response is written.
type reader struct {
	lists   *lists
	control *http.ResponseController
	bytes   int
	page    *feed.Page // other readers of the page share its bytes; nil: there are none
	read    time.Time  // when the last part was written
}

// reserve makes room for a response to w, of a page that others may get, too. If
// maxUnread is full, it cuts off clients that have read nothing for patience. It fails
// if that does not suffice; otherwise the reader must leave. A small response needs no
// room, and its reader is nil.
func (l *lists) reserve(w http.ResponseWriter, page *feed.Page, bytes int) (*reader, error) {
	if bytes <= smallResponse {
		return nil, nil
	}
	r := &reader{l, http.NewResponseController(w), bytes, page, time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.unread+l.extraBytes(r) > maxUnread {
		slowest := slices.MinFunc(l.readers, func(a, b *reader) int { return a.read.Compare(b.read) })
		if time.Since(slowest.read) < patience {
			return nil, fmt.Errorf("%d responses that are being read take %d bytes: %w",
				len(l.readers), l.unread, errUnavailable)
		}
		l.remove(slowest)
		_ = slowest.control.SetWriteDeadline(time.Unix(1, 0)) // ends its write
	}
	l.unread += l.extraBytes(r)
	l.readers = append(l.readers, r)
	return r, nil
}

// extraBytes returns how many bytes a reader takes beside the others.
func (l *lists) extraBytes(r *reader) int {
	if r.page != nil && slices.ContainsFunc(l.readers, func(other *reader) bool { return other.page == r.page }) {
		return 0
	}
	return r.bytes
}

// remove removes a reader, if it is there.
func (l *lists) remove(r *reader) {
	if i := slices.Index(l.readers, r); i >= 0 {
		l.readers = slices.Delete(l.readers, i, i+1)
		l.unread -= l.extraBytes(r)
	}
}

// leave frees the room of a response that is written, or was cut off.
func (r *reader) leave() {
	r.lists.mu.Lock()
	defer r.lists.mu.Unlock()
	r.lists.remove(r)
}

// next sets the deadline of the next part. It fails if the client was cut off.
func (r *reader) next(control *http.ResponseController, deadline time.Time) error {
	if r != nil {
		r.lists.mu.Lock()
		defer r.lists.mu.Unlock()
		if !slices.Contains(r.lists.readers, r) {
			return os.ErrDeadlineExceeded
		}
		r.read = time.Now()
	}
	_ = control.SetWriteDeadline(deadline)
	return nil
}

// writePaced writes a whole large response. It fails as soon as the client is too
// slow; net/http then cuts the connection off.
func (rec *responseRecorder) writePaced(b []byte) (n int, err error) {
	w := rec.ResponseWriter
	began, control := time.Now(), http.NewResponseController(w)
	for part := range slices.Chunk(b, smallResponse) {
		within := paceGrace + time.Duration(n+len(part))*time.Second/paceRate
		if err := rec.reader.next(control, began.Add(within)); err != nil {
			return n, err
		}
		m, err := w.Write(part)
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
