package httpapi

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantjson"
	"github.com/plantstore/plantstore/internal/feed"
)

// eventStreamType is the media type of Server-Sent Events (HTML standard, section
// 9.2).
const eventStreamType = "text/event-stream"

const (
	// heartbeat is the time without an event after which a stream sends a comment, so that
	// proxies and clients know that it is open. The document has the number.
	heartbeat = 15 * time.Second

	// endGrace is how long a stream takes to end when its client does not read.
	endGrace = 250 * time.Millisecond
)

// stream is a response that sends the changes of a feed as they come. It reads no
// further than it has written, so a slow client costs the memory of the text of a page. A
// client that does not read it in readTime is disconnected.
//
// The response that oapi-codegen makes for text/event-stream copies an io.Reader and flushes
// what it has read. It cannot set deadlines: the WriteTimeout of the server would end each
// stream, and without one a client that does not read would keep its stream after its token has
// ended. It would also copy the text of a page, which streams share, in parts of 4 KiB.
type stream struct {
	ctx    context.Context // see waitingRoom
	server *server
	first  *feed.Page

	rec     *responseRecorder
	control *http.ResponseController
	end     func() time.Time // when the stream has ended: endGrace after the first call
	writing atomic.Bool
}

// VisitStreamChangesResponse implements the response of the generated code.
func (s *stream) VisitStreamChangesResponse(w http.ResponseWriter) error {
	s.begin(w)
	defer s.limitWritesAtEnd()()
	err := s.run()
	if s.rec.cut != nil {
		s.noteCut()
		return nil
	}
	if cause := context.Cause(s.ctx); cause != nil {
		err = cause
	}
	if err == context.Canceled { // disconnected, or HEAD
		return nil
	}
	return s.sendEnd(err)
}

// begin sends the header.
func (s *stream) begin(w http.ResponseWriter) {
	s.rec, s.control = recorderOf(w), http.NewResponseController(w)
	s.end = sync.OnceValue(func() time.Time { return time.Now().Add(endGrace) })
	header := w.Header()
	header.Set("Content-Type", eventStreamType)
	header.Set("Cache-Control", cacheControl)
	header.Set("X-Accel-Buffering", "no") // for nginx, which would hold back events
	closeConnection(w)
	w.WriteHeader(http.StatusOK)
}

// limitWritesAtEnd limits a write that goes on when the context ends, until done is called.
func (s *stream) limitWritesAtEnd() (done func()) {
	limited := make(chan struct{})
	stop := context.AfterFunc(s.ctx, func() {
		defer close(limited)
		if s.writing.Load() { // else write does it: HTTP/2 would reset a stream whose last event comes late
			s.limitWrites()
		}
	})
	return func() {
		if !stop() {
			<-limited // the writer must not be used after the handler
		}
		if s.rec.cut == nil { // or HTTP/2 would reset a stream that has written its end in time
			_ = s.control.SetWriteDeadline(time.Now().Add(readTime))
		}
	}
}

// noteCut keeps that the stream was cut only if the client did not read: clients end streams by disconnecting.
func (s *stream) noteCut() {
	if !errors.Is(s.rec.cut, os.ErrDeadlineExceeded) {
		s.rec.cut = nil
	}
}

// loggedEnds are the failures that end a stream because of the service.
var loggedEnds = []*failure{errInternal, errUnavailable, errDiskFull}

// sendEnd sends the last event, which says why the stream ends, and returns the reason if it is to be logged. It must
// not be called after a write that was cut: the event would complete half an event.
func (s *stream) sendEnd(reason error) error {
	failure := failureOf(reason)
	s.limitWrites()
	s.write(endEvent(failure))
	if slices.Contains(loggedEnds, failure) {
		return reason
	}
	return nil
}

// run sends pages until ctx ends, the client does not read any more, or the feed
// fails.
func (s *stream) run() error {
	page := s.first
	s.first = nil // or its memory is kept as long as the stream
	for {
		after := page.Next // and not page, whose memory would be kept while its text is sent
		if s.send(page); s.rec.cut != nil {
			return nil
		}
		if s.ctx.Err() != nil {
			return nil
		}
		var err error
		page, err = s.server.next(s.ctx, &after, mostOnPage, heartbeat)
		if err != nil {
			return err
		}
		if len(page.Changes) == 0 {
			select {
			case <-s.server.Changes.Stopped():
				<-s.ctx.Done() // at once; see waitingRoom
			default:
			}
		}
	}
}

// text returns what to send for a page. Streams with the same page share it.
func (s *stream) text(page *feed.Page) []byte {
	if len(page.Changes) == 0 {
		return []byte(":\n\n") // a comment
	}
	return page.Text(s.server.encodeEvents)
}

// send writes a page, unless the stream ends before.
func (s *stream) send(page *feed.Page) {
	text := s.text(page)
	if s.ctx.Err() != nil {
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(readTime))
	if s.write(text) {
		_ = s.control.SetWriteDeadline(time.Time{}) // HTTP/2 resets the stream at its deadline, also if nothing is written
	}
}

// write writes and reports whether that succeeded. If not, the recorder has the
// error.
func (s *stream) write(text []byte) bool {
	s.writing.Store(true)
	defer s.writing.Store(false)
	if s.ctx.Err() != nil {
		s.limitWrites()
	}
	_, err := s.rec.send(text)
	if err == nil {
		err = s.control.Flush()
		s.rec.cut = err
	}
	return err == nil
}

// limitWrites lets a write take no longer than the stream. One that begins late, because
// the machine is busy, has a moment.
func (s *stream) limitWrites() {
	end, moment := s.end(), time.Now().Add(endGrace/5)
	if end.Before(moment) {
		end = moment
	}
	_ = s.control.SetWriteDeadline(end)
}

// encodeEvents returns the events of a page.
func (s *server) encodeEvents(page *feed.Page) (b []byte) {
	for i := range page.Changes {
		change := s.toChange(&page.Changes[i])
		b = append(append(b, "id: "...), change.Position...)
		b = append(b, "\ndata: "...)
		b = append(plantjson.AppendJSON(b, &change), "\n\n"...)
	}
	return b
}

// endEvent returns the last event of a stream. It has no id, so that the client
// resumes after the last change.
func endEvent(f *failure) []byte {
	e := plantapi.Error{Error: int32(f.code), Message: f.message}
	return append(plantjson.AppendJSON([]byte("event: end\ndata: "), &e), "\n\n"...)
}
