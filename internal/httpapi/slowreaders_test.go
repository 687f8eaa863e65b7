package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/limit"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pipes"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// largePage is a store whose list has 240 KiB of JSON.
var largePage = &mapPlants{sorted: []plant.Plant{{ID: 1, Name: "n"}, {ID: 2, Name: strings.Repeat("\x01", 40<<10)}}}

// servePipes serves plants with the timeouts of package server. It returns a function that sends a GET with a token
// on a new connection, and a channel that gets a value when the handler of a request ends. It must be called in a
// synctest bubble.
func servePipes(
	t *testing.T, plants plant.Store, http2 bool, options ...option,
) (get func(path, text string) (*http.Response, error), ended <-chan time.Time) {
	t.Helper()
	changes := feed.New(plants)
	t.Cleanup(changes.Stop)
	fixed := []option{
		offline, withPlants(plants), withTokens(noTokens{}), withOptions(func(o *httpapi.Options) { o.Changes = changes }),
	}
	real := newService(t, append(fixed, options...)...).handler
	ends := make(chan time.Time, 1000)
	connect := startPipes(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ends <- time.Now() }()
		real.ServeHTTP(w, r)
	}), http2)
	return func(path, text string) (*http.Response, error) { return getThrough(t, connect(), path, text) }, ends
}

// startPipes serves a handler with the timeouts of package server, and returns a function
// that makes a client with connections of its own.
func startPipes(t *testing.T, handler http.Handler, http2 bool) (connect func() *http.Transport) {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	server := &http.Server{Handler: handler, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, Protocols: protocols} // as in package server
	listener := make(pipes.Listener)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		synctest.Wait() // until its handlers have returned
	})
	return func() *http.Transport {
		client := &http.Transport{Protocols: protocols, DialContext: listener.DialContext}
		t.Cleanup(client.CloseIdleConnections)
		return client
	}
}

// getThrough sends a GET with a token through a client.
func getThrough(t *testing.T, client *http.Transport, path, text string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x"+path, nil)
	must.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+text)
	return client.RoundTrip(r)
}

// forBoth runs a test with clients of HTTP/1.1 and HTTP/2, with a clock of its own.
func forBoth(t *testing.T, test func(t *testing.T, http2 bool)) {
	t.Helper()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, http2) })
		})
	}
}

// A client that reads a page in 30 seconds gets it, also if it reads in bursts.
func TestSlowReaderIsServed(t *testing.T) {
	forBoth(t, func(t *testing.T, http2 bool) {
		get, _ := servePipes(t, largePage, http2)
		resp, err := get("/plants?limit=2", staticToken)
		must.NoError(t, err)
		defer resp.Body.Close()
		var n int64
		for err == nil {
			time.Sleep(5 * time.Second)
			var burst int64
			burst, err = io.CopyN(io.Discard, resp.Body, 50<<10)
			n += burst
		}
		if err != io.EOF || n != resp.ContentLength {
			t.Errorf("read %d bytes of %d, %v", n, resp.ContentLength, err)
		}
	})
}

// Clients that do not read are cut off, and take no slots meanwhile.
func TestClientsThatDoNotRead(t *testing.T) {
	forBoth(t, func(t *testing.T, http2 bool) {
		const slots = 4
		get, _ := servePipes(t, largePage, http2, withOptions(func(o *httpapi.Options) { o.MaxInFlight = slots }))
		var unread []*http.Response
		for range 2 * slots {
			resp, err := get("/plants?limit=2", staticToken)
			must.NoError(t, err)
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("a list that is not read is %s", resp.Status)
			}
			unread = append(unread, resp)
		}
		began := time.Now()
		other, err := get("/plants?limit=1", staticToken)
		must.NoError(t, err)
		defer other.Body.Close()
		if took := time.Since(began); other.StatusCode != http.StatusOK || took != 0 {
			t.Errorf("another list: got %s after %v, want 200 at once", other.Status, took)
		}
		time.Sleep(31 * time.Second)
		if http2 {
			return // the client has read all that fits into its window
		}
		for _, resp := range unread {
			if n, err := io.Copy(io.Discard, resp.Body); err == nil || n > 100<<10 {
				t.Errorf("read %d bytes after 31 seconds, %v, want a connection that was cut off", n, err)
			}
		}
	})
}

// 33 connections of one token with 16 requests each, whose clients read nothing, do not keep
// others from reading and writing.
func TestUnreadPagesOfManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const connections, streams = 33, 16
		store, err := sqlite.Open(t.Context(), sqlite.Memory)
		tokens := opened(t, store, err)
		attacker := newToken(t, tokens, token.Read)
		s := newService(t, offline, withPlants(newMapPlants(100)), withTokens(tokens), withOptions(func(o *httpapi.Options) { o.MaxInFlight = 512 }))
		connect := startPipes(t, s.handler, true)
		for range connections {
			client := connect()
			client.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 1} // byte
			for range streams {
				resp, err := getThrough(t, client, "/plants?limit=100", attacker) // has 10 kB
				must.NoError(t, err)
				t.Cleanup(func() { resp.Body.Close() })
				if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
					t.Errorf("a list that is not read is %s %s", resp.Proto, resp.Status)
				}
			}
		}
		synctest.Wait() // until all responses that are not cut off wait for their clients
		unread, size := httpapi.Unread(s.handler)
		if httpapi.HasRoom(unread, size-connections*streams*5000) {
			t.Error("the responses do not wait for their clients")
		}
		began := time.Now()
		for id := range 10 {
			s.post(fmt.Sprintf(`{"id":%d,"name":"n"}`, 1000+id)).wantStatus(t, http.StatusOK)
			s.call(http.MethodGet, "/plants?limit=100", "").wantStatus(t, http.StatusOK)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("creates and lists took %v, want no wait", took)
		}
	})
}

// A client that sends its body slowly takes no slot meanwhile.
func TestClientsThatSendSlowly(t *testing.T) {
	t.Parallel()
	s := newService(t, withOptions(func(o *httpapi.Options) { o.MaxInFlight = 2 }))
	for _, length := range []int{100, 1 << 20, 1 << 20} { // the part of it that comes is small, small, and large
		sent := strings.Repeat(" ", length/20)
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(s.url, "http://"), wait.Limit)
		must.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		_, err = fmt.Fprintf(conn, "POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", staticToken, length, sent)
		must.NoError(t, err)
	}
	account, size := httpapi.Bodies(s.handler)
	wait.Until(t, "the large bodies have come to a stop", func() bool { return !httpapi.HasRoom(account, size-4<<20) })
	for id := range 10 {
		s.post(fmt.Sprintf(`{"id":%d,"name":"n"}`, id)).wantStatus(t, http.StatusOK)
	}
}

// startTLS serves a handler, with HTTP/2 or HTTP/1.1.
func startTLS(t *testing.T, handler http.Handler, http2 bool) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// When the memory is needed, a client that waits gives way: it reads a response or
// sends a body, in each version of HTTP.
func TestClientGivesWay(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		for _, target := range []string{"GET /plants", "GET /changes", "GET /changes:stream", "POST /plants"} {
			t.Run(name+" "+target, func(t *testing.T) {
				t.Parallel()
				s := newService(t, withPlants(&largeFeed{}))
				ended := make(chan struct{})
				server := startTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(ended)
					s.handler.ServeHTTP(w, r)
				}), http2)
				method, path, _ := strings.Cut(target, " ")
				account, size := httpapi.Unread(s.handler)
				body, sender := io.Pipe()
				t.Cleanup(func() { sender.Close() })
				filled := make(chan struct{})
				fill := func() {
					defer close(filled)
					wait.Until(t, "the request is in the account", func() bool { return !httpapi.HasRoom(account, size) })
					other := &limit.Holding{Key: "other", Bytes: size}
					account.Hold(other, true)
					other.Release()
				}
				if method == http.MethodPost {
					account, size = httpapi.Bodies(s.handler)
					go func() { _, _ = sender.Write(make([]byte, 32<<10)) }()
					go fill()
				} else {
					sender.Close()
				}
				r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, body)
				must.NoError(t, err)
				r.Header.Set("Authorization", "Bearer "+staticToken)
				r.Header.Set("Content-Type", "application/json")
				resp, err := server.Client().Do(r)
				must.NoError(t, err)
				defer resp.Body.Close()
				if method == http.MethodPost {
					if resp.StatusCode != http.StatusServiceUnavailable {
						t.Errorf("a body that gives way is %s, want 503", resp.Status)
					}
					wait.For(t, "the release of what took its place", filled) // or else the account is not empty
					return
				}
				fill()
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
