package clienttest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// A Fault is what goes wrong with a request.
type Fault struct {
	kind  kind
	delay time.Duration
}

type kind int

const (
	refuse kind = iota
	cut
	respond429
	respond503
	respond410
	delay
)

// The faults of [Server.Fail].
var (
	// Refuse refuses the connection of a client of [Server.Client] or
	// [Server.HTTPClient]. For another client the server closes the connection
	// without a response.
	Refuse = Fault{kind: refuse}

	// Cut carries out the request and closes the connection in the middle of the
	// response, so the client cannot tell whether the request was carried out.
	Cut = Fault{kind: cut}

	// TooManyRequests and Unavailable respond with 429 or 503 and a Retry-After of
	// one second, and do not carry out the request.
	TooManyRequests = Fault{kind: respond429}
	Unavailable     = Fault{kind: respond503}

	// PositionGone responds with 410 to a request for the changes after a position, so
	// that a follower begins again. Other requests do not use it up. A request that
	// already waits for changes goes on: store a plant to end it, and the next request
	// of the follower has the fault.
	PositionGone = Fault{kind: respond410}
)

// Delay carries out the request after a pause. If the client goes away during the
// pause, the request is not carried out. With a Delay of their writes, several clients
// can read the same version of a plant before the first of them changes it.
func Delay(d time.Duration) Fault { return Fault{kind: delay, delay: d} }

// Fail gives the next n requests a fault. Each request has at most one fault; those of
// an earlier call come first.
func (s *Server) Fail(n int, f Fault) {
	s.FailWhere(func(*http.Request) bool { return true }, n, f)
}

// FailWhere gives a fault to the next n requests for which match returns true. Match can
// be called more than once for a request, but not at the same time. It must not read the
// body, send a request or call a method of the server.
//
//	server.FailWhere(func(r *http.Request) bool { return r.Method == http.MethodPatch }, 1, clienttest.Cut)
func (s *Server) FailWhere(match func(*http.Request) bool, n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.faults = append(s.faults, aimed{f, match})
	}
}

// Pending returns how many faults no request has had yet. If it is 0 at the end of a
// test, every fault has happened.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.faults)
}

// aimed is a fault of the next request that match selects.
type aimed struct {
	Fault
	match func(*http.Request) bool
}

// next takes the fault of a request. It returns false if there is none, or if only is
// false for it.
func (s *Server) next(r *http.Request, only func(Fault) bool) (f Fault, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.faults, func(f aimed) bool { return f.match(r) && (f.kind != respond410 || continues(r)) })
	if i < 0 || !only(s.faults[i].Fault) {
		return Fault{}, false
	}
	f = s.faults[i].Fault
	s.faults = slices.Delete(s.faults, i, i+1)
	return f, true
}

// continues reports whether a request is for the changes after a position.
func continues(r *http.Request) bool {
	return (r.URL.Path == "/changes" || r.URL.Path == "/changes:stream") &&
		(r.URL.Query().Has("after") || r.Header.Get("Last-Event-ID") != "")
}

// ServeHTTP handles a request as the service does, or with a fault.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := s.next(r, func(Fault) bool { return true })
	if !ok {
		s.handler.ServeHTTP(w, r)
		return
	}
	switch f.kind {
	case refuse:
		panic(http.ErrAbortHandler)
	case cut:
		recorder := httptest.NewRecorder()
		s.handler.ServeHTTP(recorder, r)
		header, body := w.Header(), recorder.Body.Bytes()
		for name, values := range recorder.Header() {
			header[name] = values
		}
		header.Set("Content-Length", fmt.Sprint(max(len(body), 2)))
		if len(body) > 0 { // a status without a body would be a whole response
			w.WriteHeader(recorder.Code)
			_, _ = w.Write(body[:len(body)/2])
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	case respond429:
		respond(w, plantapi.CodeTooManyRequests, "too many requests with this token, try again later")
	case respond503:
		respond(w, plantapi.CodeUnavailable, "not available, try again later")
	case respond410:
		respond(w, plantapi.CodePositionGone, "the position is not valid any more: begin again without one")
	case delay:
		body, err := io.ReadAll(r.Body) // or the server would not notice that the client goes away
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		timer := time.NewTimer(f.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			s.handler.ServeHTTP(w, r)
		case <-r.Context().Done():
		case <-s.t.Context().Done():
		}
	}
}

// respond writes an error as the document describes it.
func respond(w http.ResponseWriter, code plantapi.ErrorCode, message string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Request-Id", "clienttest")
	h.Set("Retry-After", "1")
	id := ""
	switch code {
	case plantapi.CodePositionGone:
		h.Del("Retry-After")
	case plantapi.CodeUnavailable:
		id = `,"request_id":"clienttest"`
	case plantapi.CodeTooManyRequests:
		for name, value := range map[string]string{"Limit": "1", "Remaining": "0", "Reset": "1"} {
			h.Set("RateLimit-"+name, value)
		}
	}
	w.WriteHeader(int(code) / 100)
	fmt.Fprintf(w, "{\"error\":%d,\"message\":%q%s}\n", code, message, id)
}

// HTTPClient returns an HTTP client whose connections can be refused: see [Refuse]. It is
// for a program that makes its own client, with [Server.URL] and [Server.Token].
func (s *Server) HTTPClient() *http.Client {
	return &http.Client{Transport: transport{s}, Timeout: time.Minute}
}

type transport struct{ server *Server }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := t.server.next(r, func(f Fault) bool { return f.kind == refuse }); ok {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return http.DefaultTransport.RoundTrip(r)
}
