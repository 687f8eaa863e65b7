package contracttest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Handler checks every response of next, and t fails for each fault. A response is passed on when it is complete, or when next
// flushes it: streams are not delayed.
func (c *Contract) Handler(t T, next http.Handler) http.Handler {
	return c.recorded(next, func(x Interaction, notChecked string) {
		t.Helper()
		if notChecked != "" {
			t.Errorf("contract: %s %s: %s", x.Method, x.Path, notChecked)
			return
		}
		c.Check(t, x)
	})
}

// recorded calls check with each response of next, before a client has seen the end of it. notChecked is why the response cannot be
// checked, or nothing.
func (c *Contract) recorded(next http.Handler, check func(x Interaction, notChecked string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response := &heldResponse{ResponseWriter: w}
		var writer http.ResponseWriter = response
		if _, can := w.(http.Hijacker); can {
			writer = hijackable{response}
		}
		sent := &copied{}
		asSent := r.Clone(r.Context()) // next may change the request
		asSent.URL.Opaque = ""         // a server has the path as well: see sentPath
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = readCloser{io.TeeReader(r.Body, sent), r.Body.Close}
		}
		next.ServeHTTP(writer, r)
		if response.isHijacked {
			return
		}
		response.begin(http.StatusOK)
		// Next need not complete a response that no client waits for. Event streams mostly end so.
		isAbandoned := r.Context().Err() != nil && !scenario.IsEventStream(response.header)
		if !isAbandoned {
			body, notChecked := response.plainBody(asSent.Method)
			x := c.interaction(asSent, response.status, response.sentHeader(), body)
			x.RequestBody = sent.bytes()
			check(x, notChecked)
		}
		_ = response.pass() // a client that has gone away is no fault
	})
}

// heldResponse is a response writer that keeps the response, and holds it back until it is checked or flushed: a test that has
// its whole response may end at any time.
type heldResponse struct {
	http.ResponseWriter
	status     int          // 0: not written yet
	header     http.Header  // as it was when the status was written
	isImplicit bool         // the first part of the body was written without a status
	firstPart  int          // its size: see passImplicit
	kept       bytes.Buffer // the beginning of the body, which is checked
	passed     int          // how many bytes of kept are not held back any more
	isPassing  bool         // nothing more is held back
	isLonger   bool         // than what is kept
	isHijacked bool
}

// begin notes the status and the header of the response, once.
func (w *heldResponse) begin(status int) {
	if w.status == 0 {
		w.status = status
		w.header = w.Header().Clone()
	}
}

// WriteHeader passes the status on at once. Clients see one of 1xx at once, and any other one only with the body.
func (w *heldResponse) WriteHeader(status int) {
	isFinal := status >= http.StatusOK || status == http.StatusSwitchingProtocols
	if isFinal {
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write holds back a part of the body, or passes it on at once if the response was flushed, or is longer than what is kept. In
// both cases it keeps the part for the check, as far as there is room. What was held back before goes first.
func (w *heldResponse) Write(part []byte) (int, error) {
	if w.status == 0 {
		w.begin(http.StatusOK)
		w.isImplicit = true
		w.firstPart = len(part)
	}
	room := scenario.MostRead - w.kept.Len()
	w.isLonger = w.isLonger || len(part) > room
	if w.isLonger && !w.isPassing {
		if err := w.pass(); err != nil {
			return 0, err
		}
	}
	w.kept.Write(part[:min(len(part), room)])
	if !w.isPassing {
		return len(part), nil
	}
	w.passed = w.kept.Len() // for pass at the end
	return w.ResponseWriter.Write(part)
}

// pass passes on what was held back. What follows is passed on at once.
func (w *heldResponse) pass() error {
	w.isPassing = true
	held := w.kept.Bytes()[w.passed:]
	w.passed = w.kept.Len()
	if w.isImplicit {
		return w.passImplicit(held)
	}
	if len(held) == 0 {
		return nil
	}
	_, err := w.ResponseWriter.Write(held)
	return err
}

// passImplicit passes on a body without a status. The writer below writes that, and reads the media type from the first part;
// it must not see what next has done to the header since.
func (w *heldResponse) passImplicit(held []byte) error {
	w.isImplicit = false
	live := w.Header()
	late := maps.Clone(live)
	clear(live)
	maps.Copy(live, w.header)
	first := min(w.firstPart, len(held)) // of a longer one nothing is held back
	_, err := w.ResponseWriter.Write(held[:first])
	if rest := held[first:]; len(rest) > 0 && err == nil {
		_, err = w.ResponseWriter.Write(rest)
	}
	maps.Copy(live, late) // trailers
	return err
}

// FlushError passes on what was held back, for [http.ResponseController].
func (w *heldResponse) FlushError() error {
	w.begin(http.StatusOK)
	if err := w.pass(); err != nil {
		return err
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush is FlushError without its error.
func (w *heldResponse) Flush() { _ = w.FlushError() }

// Unwrap returns the writer below, for [http.ResponseController].
func (w *heldResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// hijackable is a heldResponse over a writer whose connection can be taken over.
type hijackable struct{ *heldResponse }

// Hijack gives up the connection. What is written to it is not checked.
func (w hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.isHijacked = err == nil
	return conn, buffered, err
}

// sentHeader is the header as net/http sends it: it reads the media type from the body, if next has not set it.
func (w *heldResponse) sentHeader() http.Header {
	if w.kept.Len() == 0 {
		return w.header
	}
	sent := w.header.Clone()
	if _, hasType := sent["Content-Type"]; !hasType && sent.Get("Content-Encoding") == "" {
		sent.Set("Content-Type", http.DetectContentType(w.kept.Bytes()))
	}
	if !w.isPassing && sent.Get("Content-Length") == "" {
		sent.Set("Content-Length", strconv.Itoa(w.kept.Len()))
	}
	return sent
}

// plainBody is the body that is judged: without its encoding, which clients such as [http.Client] remove by themselves, and of an
// event stream that is too long only the beginning. notChecked is why the body cannot be judged, or nothing.
func (w *heldResponse) plainBody(method string) (body []byte, notChecked string) {
	encoding := w.header.Get("Content-Encoding")
	switch {
	case method == http.MethodHead:
		return nil, ""
	case w.isLonger && !scenario.IsEventStream(w.header):
		return nil, fmt.Sprintf("the response has more than %d bytes", scenario.MostRead)
	case encoding == "" || encoding == "identity" || w.kept.Len() == 0:
		return w.kept.Bytes(), ""
	case encoding != "gzip":
		return nil, "the Content-Encoding is " + encoding
	}
	reader, err := gzip.NewReader(bytes.NewReader(w.kept.Bytes()))
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(reader, scenario.MostRead))
	}
	if err != nil {
		return nil, "the Content-Encoding is gzip: " + err.Error()
	}
	return body, ""
}
