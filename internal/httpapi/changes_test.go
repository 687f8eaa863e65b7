package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/contract/plantcontract"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/metricstest"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// changes requests a page of changes.
func (s *service) changes(query string) (page plantapi.Changes) {
	s.t.Helper()
	a := s.call(http.MethodGet, "/changes?"+query, "").wantStatus(s.t, http.StatusOK)
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		s.t.Fatalf("%s: %v", a.body, err)
	}
	return page
}

// follower is a stream of changes that a test reads.
type follower struct {
	*http.Response
	t     testing.TB
	lines *bufio.Reader
}

// follow opens a stream. It ends with the test.
func (s *service) follow(query string, changes ...func(*http.Request)) *follower {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/changes:stream?"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+staticToken)
	for _, change := range changes {
		change(req)
	}
	resp, err := plantcontract.Plants().Client(s.t).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("the stream is %s", resp.Status)
	}
	return &follower{resp, s.t, bufio.NewReader(resp.Body)}
}

// event returns the next event, as "TYPE ID" of a change or "end ERROR", or what
// follows the last one.
func (f *follower) event() string {
	f.t.Helper()
	kind := ""
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			return err.Error()
		}
		if text, ok := strings.CutPrefix(line, "event: "); ok {
			kind = strings.TrimSpace(text)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var c struct {
			ID    int64
			Plant *struct{}
			Error int
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			f.t.Fatalf("the data %s: %v", data, err)
		}
		switch {
		case kind != "":
			return fmt.Sprint(kind, " ", c.Error)
		case c.Plant == nil:
			return fmt.Sprint("deleted ", c.ID)
		}
		return fmt.Sprint("stored ", c.ID)
	}
}

func (f *follower) want(events ...string) {
	f.t.Helper()
	for _, want := range events {
		if got := f.event(); got != want {
			f.t.Fatalf("the stream has %q, want %q", got, want)
		}
	}
}

// A stream has the same changes as the pages, also those of other clients, and ends
// with an event that says why.
func TestStream(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.post(`{"id":1,"name":"a"}`)
	f := s.follow("")
	f.want("stored 1")
	s.call(http.MethodDelete, "/plants/1", "")
	f.want("deleted 1")
	s.call(http.MethodPost, "/plants:batch", `{"plants":[{"id":7,"name":"b"},{"id":2,"name":"a"}]}`)
	f.want("stored 2", "stored 7")
	s.feed.Stop()
	f.want("end 50300", "EOF")
}

// A client that has never had a token, or lost it, does not see a change.
func TestStreamEndsWithToken(t *testing.T) {
	t.Parallel()
	s := newService(t)
	mine, text := token.New("laptop", []token.Scope{token.Read}, time.Hour)
	if err := s.store.CreateToken(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	with := header("Authorization", "Bearer "+text)
	f := s.follow("", with)
	waiting := make(chan response, 1)
	after := s.changes("").Position
	go func() { waiting <- s.call(http.MethodGet, "/changes?wait=30&after="+after, "", with) }()
	if err := s.store.UpdateToken(t.Context(), mine.ID, func(t *token.Token) error { t.Revoke(time.Now()); return nil }); err != nil {
		t.Fatal(err)
	}
	f.want("end 40101", "EOF")
	receive(t, waiting, "the response to a request whose token is revoked").wantError(t, plantapi.CodeBadCredentials)
}

// When the service stops, a request that waits gets what there is.
func TestStopEndsWait(t *testing.T) {
	t.Parallel()
	s := newService(t)
	after := s.changes("").Position
	time.AfterFunc(100*time.Millisecond, s.feed.Stop)
	if page := s.changes("wait=30&after=" + after); len(page.Changes) != 0 || page.Position == "" {
		t.Errorf("the page is %+v", page)
	}
	s.changes("wait=30&after=" + after) // and one that comes later does not wait
}

// A client that closes its sending half, as a client with a body of a fixed length
// may, gets the response at once.
func TestHalfClosedClientGetsPage(t *testing.T) {
	t.Parallel()
	s := newService(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(longEnough))
	began := time.Now()
	fmt.Fprintf(conn, "GET /changes?wait=30 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", staticToken)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 200 ") || time.Since(began) > 29*time.Second {
		t.Errorf("after %v got %.300q, %v", time.Since(began), text, err)
	}
}

// HEAD never waits.
func TestHeadDoesNotWait(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, path := range []string{"/changes?wait=30", "/changes:stream"} {
		began := time.Now()
		a := s.call(http.MethodHead, path, "").wantStatus(t, http.StatusOK)
		if took := time.Since(began); took > 29*time.Second || a.body != "" {
			t.Errorf("%s took %v, the body is %q", path, took, a.body)
		}
	}
}

// Requests that wait do not take the place of others, and others do not take theirs.
// They are neither slow nor in flight, nor in the histogram.
func TestStreamsHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	s, log, registry := observed(t, nil, func(o *httpapi.Options) { o.MaxStreams, o.MaxInFlight, o.LogSlow = 2, 1, time.Nanosecond })
	first, second := s.follow(""), s.follow("")
	for _, path := range []string{"/changes", "/changes:stream"} {
		if a := s.call(http.MethodGet, path, ""); a.wantError(t, plantapi.CodeUnavailable).Error == 0 || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s has no Retry-After", path)
		}
	}
	gauge := func(name string) float64 { return metricstest.Scrape(t, registry)[name] }
	if streams, inFlight := gauge("plantstore_http_streams"), gauge("plantstore_http_requests_in_flight"); streams != 2 || inFlight != 0 {
		t.Errorf("%v streams and %v requests in flight, want 2 and 0", streams, inFlight)
	}
	s.call(http.MethodGet, "/plants", "").wantStatus(t, http.StatusOK)
	first.Body.Close()
	for late := time.Now().Add(longEnough); gauge("plantstore_http_streams") != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("waited %v for the end of a stream whose client has disconnected", longEnough)
		}
	}
	s.changes("")
	s.feed.Stop()
	second.want("end 50300", "EOF")
	wantCounts(t, registry, map[string]float64{"listPlants 200": 1, "failure 50300": 2})
	for _, l := range log.lines(t) {
		if l.Operation != "listPlants" && l.Msg != "request failed" {
			t.Errorf("logged %+v", l)
		}
	}
}

// noFeed is a store of an earlier release.
type noFeed struct{ plant.Store }

func (noFeed) Changes(context.Context, *plant.Position, int) ([]plant.Change, plant.Position, error) {
	return nil, plant.Position{}, fmt.Errorf("store: %w", plant.NoChangesError{Reason: "run plantstore migrate --changes"})
}

func TestStoreWithoutFeed(t *testing.T) {
	t.Parallel()
	s := newService(t, wrapPlants(func(real plant.Store) plant.Store { return noFeed{real} }))
	for _, path := range []string{"/changes", "/changes?wait=30", "/changes:stream"} {
		if e := s.call(http.MethodGet, path, "").wantError(t, plantapi.CodeUnavailable); !strings.Contains(e.Message, "run plantstore migrate --changes") {
			t.Errorf("%s: the message is %q", path, e.Message)
		}
	}
}

// oneChange is a feed with one change, whose event has 6 MiB.
type oneChange struct{ mapPlants }

func (*oneChange) Changed() <-chan struct{} { return nil }

func (s *oneChange) Changes(_ context.Context, after *plant.Position, _ int) (changes []plant.Change, next plant.Position, err error) {
	if next = (plant.Position{At: 1, Seen: 1}); after == nil {
		changes = []plant.Change{{Position: next, ID: 1, Plant: &plant.Plant{ID: 1, Name: strings.Repeat("\x01", 1<<20)}}}
	}
	return changes, next, nil
}

// A stream that has nothing to send sends a comment every 15 seconds.
func TestHeartbeat(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp, err := servePipes(t, &oneChange{}, http2)("/changes:stream?after=" + "AAICAAI")
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				for _, want := range []time.Duration{0, 15 * time.Second, 15 * time.Second, 15 * time.Second, 15 * time.Second} { // the timeouts of the server are shorter
					began, comment := time.Now(), make([]byte, 3)
					if _, err := io.ReadFull(resp.Body, comment); err != nil || string(comment) != ":\n\n" || time.Since(began) != want {
						t.Fatalf("after %v the stream has %q, %v, want a comment after %v", time.Since(began), comment, err, want)
					}
				}
			})
		})
	}
}

// A stream does not use the connection after its end. With HTTP/2, net/http panics if
// it does.
func TestStreamEndsOverHTTP2(t *testing.T) {
	t.Parallel()
	s := newService(t, offline)
	server := httptest.NewUnstartedServer(s.handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	for range 500 { // without the wait, some of the first hundred end the process
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+"/changes:stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+staticToken)
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
			t.Fatalf("got %s %d", resp.Proto, resp.StatusCode)
		}
	}
}

// A client that does not read its stream is disconnected.
func TestStreamThatIsNotRead(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp, err := servePipes(t, &oneChange{}, http2)("/changes:stream")
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				time.Sleep(11 * time.Second)
				if n, err := io.Copy(io.Discard, resp.Body); err == nil || n > 5<<20 { // an HTTP/2 client buffers 4 MiB
					t.Errorf("read %d bytes after 11 seconds, %v, want a connection that was cut off", n, err)
				}
			})
		})
	}
}
