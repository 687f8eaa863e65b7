package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// pipes is a listener of in-memory pipes. They buffer nothing and work with the clock
// of a synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serveLists serves two plants, the second of which needs a response of 6 MiB, and
// returns a function that requests a list of up to limit plants. It must be called
// in a synctest bubble.
func serveLists(t *testing.T, http2 bool) (list func(limit int) (*http.Response, error)) {
	t.Helper()
	get := servePipes(t, &mapPlants{sorted: []plant.Plant{{ID: 1, Name: "n"}, {ID: 2, Name: strings.Repeat("\x01", 1<<20)}}}, http2)
	return func(limit int) (*http.Response, error) { return get(fmt.Sprintf("/plants?limit=%d", limit)) }
}

// servePipes serves plants with the timeouts of package server, and returns a
// function that sends a GET on a new connection. It must be called in a synctest
// bubble.
func servePipes(t *testing.T, plants plant.Store, http2 bool) (get func(path string) (*http.Response, error)) {
	t.Helper()
	get, _ = servePipesTo(t, plants, noTokens{}, staticToken, http2)
	return get
}

// servePipesTo is servePipes for a client with a token. It also returns a channel that
// gets a value when the handler of a request ends.
func servePipesTo(t *testing.T, plants plant.Store, tokens token.Store, text string, http2 bool, options ...option) (get func(path string) (*http.Response, error), ended <-chan time.Time) {
	t.Helper()
	changes := feed.New(plants)
	t.Cleanup(changes.Stop)
	options = append(options, offline, withPlants(plants), withTokens(tokens), withOptions(func(o *httpapi.Options) { o.Changes = changes }))
	real := newService(t, options...).handler
	ends := make(chan time.Time, 1000)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ends <- time.Now() }()
		real.ServeHTTP(w, r)
	})
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	server := &http.Server{Handler: handler, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, Protocols: protocols} // as in package server
	listener := make(pipes)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		synctest.Wait() // until its handlers have returned
	})
	get = func(path string) (*http.Response, error) {
		client := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			listener <- theirs
			return ours, nil
		}}
		t.Cleanup(client.CloseIdleConnections)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x"+path, nil)
		must.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+text)
		return client.RoundTrip(r)
	}
	return get, ends
}

// A client that reads 50 kB a second gets a response of any size, also if it reads in
// bursts.
func TestSlowReaderIsServed(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp, err := serveLists(t, http2)(2)
				must.NoError(t, err)
				defer resp.Body.Close()
				var n int64
				for began := time.Now(); err == nil; time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / 50_000))) {
					var burst int64
					burst, err = io.CopyN(io.Discard, resp.Body, 1<<20)
					n += burst
				}
				if err != io.EOF || n != resp.ContentLength {
					t.Errorf("read %d bytes of %d, %v", n, resp.ContentLength, err)
				}
			})
		})
	}
}

// Clients that do not read are cut off, and do not keep others from listing.
func TestClientsThatDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := serveLists(t, false)
		var unread []*http.Response
		for range 2*runtime.GOMAXPROCS(0) + 1 { // more than lists has permits
			resp, err := list(2)
			must.NoError(t, err)
			defer resp.Body.Close()
			unread = append(unread, resp)
		}
		began := time.Now()
		other, err := list(1)
		must.NoError(t, err)
		defer other.Body.Close()
		if took := time.Since(began); other.StatusCode != http.StatusOK || took != 0 {
			t.Errorf("another list: got %s after %v, want 200 at once", other.Status, took)
		}
		time.Sleep(20 * time.Second)
		for _, resp := range unread {
			if n, err := io.Copy(io.Discard, resp.Body); err == nil || n > 1<<20 {
				t.Errorf("read %d bytes after 20 seconds, %v, want a connection that was cut off", n, err)
			}
		}
	})
}

// While clients read so many large responses that there is no memory for one more,
// large ones are refused and small ones are not. Clients that do not read give way.
func TestNoMemoryForLargeResponses(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var plants []string
	for id := range 300 {
		plants = append(plants, fmt.Sprintf(`{"id":%d,"name":"%s"}`, id, strings.Repeat("x", 1000)))
	}
	s.call(http.MethodPost, "/plants:batch", `{"plants":[`+strings.Join(plants, ",")+`]}`).wantStatus(t, http.StatusOK)
	for _, reads := range []bool{true, false} {
		leave, err := httpapi.FillUnread(s.handler, reads)
		must.NoError(t, err)
		for _, path := range []string{"/plants", "/changes"} {
			s.call(http.MethodGet, path+"?limit=100", "").wantStatus(t, http.StatusOK)
			a := s.call(http.MethodGet, path+"?limit=300", "")
			if !reads {
				a.wantStatus(t, http.StatusOK)
				continue
			}
			a.wantError(t, plantapi.CodeUnavailable)
			for _, name := range []string{"Link", "Cache-Control"} {
				if a.Header[name] != nil {
					t.Errorf("%s: the refusal has %s: %q", path, name, a.Header[name])
				}
			}
			if a.Header.Get("Retry-After") != "1" {
				t.Errorf("%s: Retry-After is %q, want 1", path, a.Header.Get("Retry-After"))
			}
		}
		f := s.follow("")
		f.want(map[bool]string{true: "end 50300", false: "stored 0"}[reads])
		f.Body.Close()
		leave()
	}
	s.call(http.MethodGet, "/plants?limit=300", "").wantStatus(t, http.StatusOK)
}

// A client that does not read a large response is cut off when its memory is needed.
func TestClientThatDoesNotReadGivesWay(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		for _, path := range []string{"/plants", "/changes", "/changes:stream"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				s := newService(t, withPlants(&largeFeed{}))
				ended := make(chan struct{})
				server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(ended)
					s.handler.ServeHTTP(w, r)
				}))
				server.EnableHTTP2 = http2
				server.StartTLS()
				t.Cleanup(server.Close)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
				must.NoError(t, err)
				r.Header.Set("Authorization", "Bearer "+staticToken)
				resp, err := server.Client().Do(r)
				must.NoError(t, err)
				defer resp.Body.Close()
				wait.Until(t, "there is memory for large responses", func() bool {
					leave, err := httpapi.FillUnread(s.handler, false)
					if err == nil {
						leave()
					}
					return err == nil
				})
				wait.For(t, "the end of the response", ended)
				if n, err := io.Copy(io.Discard, resp.Body); err == nil || n > 20<<20 {
					t.Errorf("read %d bytes, %v, want a response that was cut off", n, err)
				}
			})
		}
	}
}

// largeFeed is a store with plants of 24 MiB of JSON.
type largeFeed struct{ mapPlants }

func (*largeFeed) List(context.Context, plant.Page) ([]plant.Plant, bool, error) {
	return slices.Repeat([]plant.Plant{{ID: 1, Name: strings.Repeat("\x01", 1<<20)}}, 4), false, nil
}

func (*largeFeed) Changed() <-chan struct{} { return nil }

func (s *largeFeed) Changes(ctx context.Context, after *plant.Position, _ int) (changes []plant.Change, next plant.Position, err error) {
	plants, _, err := s.List(ctx, plant.Page{})
	for _, p := range plants {
		next.At++
		changes = append(changes, plant.Change{Position: next, ID: p.ID, Plant: &p})
	}
	return changes, next, err
}
