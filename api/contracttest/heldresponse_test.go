package contracttest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Each event of a stream arrives before the next one is sent.
func TestWatchStreams(t *testing.T) {
	t.Parallel()
	arrived := make(chan bool)
	test := &endingTest{}
	stream := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: {\"id\":%d,\"name\":\"n\"}\n\n", i)
			if i%2 == 0 {
				w.(http.Flusher).Flush()
			} else if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			select {
			case <-arrived:
			case <-time.After(10 * time.Second):
				t.Error("an event does not arrive")
				return
			}
		}
		fmt.Fprint(w, "data: {}\n\n")
	}
	c, err := New([]byte(watchDocument), Options{})
	must.NoError(t, err)
	server := httptest.NewServer(c.Watch(test, c.Handler(&told{}, c.Watch(nil, http.HandlerFunc(stream)))))
	defer server.Close()
	resp, err := http.Get(server.URL + "/stream")
	must.NoError(t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for i := range 3 {
		if !lines.Scan() || lines.Text() != fmt.Sprintf(`data: {"id":%d,"name":"n"}`, i) || !lines.Scan() {
			t.Fatalf("event %d is %q: %v", i, lines.Text(), lines.Err())
		}
		arrived <- true
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	if text := strings.Join(test.lines, "\n"); !strings.Contains(text, "event /id: required: is missing, in event 4") {
		t.Errorf("the test is told %q", text)
	}
}

// A response is judged with the request that was sent, also if a handler has changed that.
func TestWatchChangedRequest(t *testing.T) {
	t.Parallel()
	c, err := New([]byte(watchDocument), Options{})
	must.NoError(t, err)
	changes := func(_ http.ResponseWriter, r *http.Request) {
		r.Method = "PUT"
		r.URL.Path = "/other"
		r.Header.Del("If-None-Match")
	}
	var got Interaction
	handler := c.recorded(http.HandlerFunc(changes), func(x Interaction, _ string) { got = x })
	request := httptest.NewRequest("GET", "/things/1", http.NoBody)
	request.Header.Set("If-None-Match", `"a"`)
	handler.ServeHTTP(httptest.NewRecorder(), request)
	if got.Method != "GET" || got.Path != "/things/1" || !got.HasRequestHeader("If-None-Match") {
		t.Errorf("the request is %s %s with %v", got.Method, got.Path, got.RequestHeader)
	}
}

// A response that no client waits for is not judged: handlers end it where they are.
func TestWatchCanceled(t *testing.T) {
	t.Parallel()
	c, err := New([]byte(watchDocument), Options{})
	must.NoError(t, err)
	test := &told{}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	handler := c.Watch(test, respond(200, `[{"id":`, isJSON))
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/things", http.NoBody).WithContext(canceled))
	var out bytes.Buffer
	if c.reportWatched(&out, false) || len(test.lines) > 0 {
		t.Errorf("the test is told %q, the ledger %s", test.lines, &out)
	}
}

// A response longer than what is kept is passed on as it is written, and not judged.
func TestWatchLongBody(t *testing.T) {
	t.Parallel()
	c, err := New([]byte(watchDocument), Options{})
	must.NoError(t, err)
	test := &told{}
	part := bytes.Repeat([]byte("a"), 1<<20)
	server := httptest.NewServer(c.Watch(test, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range scenario.MostRead>>20 + 3 {
			_, _ = w.Write(part)
		}
	})))
	defer server.Close()
	resp, err := http.Get(server.URL + "/things")
	must.NoError(t, err)
	defer resp.Body.Close()
	size, err := io.Copy(io.Discard, resp.Body)
	if err != nil || size != scenario.MostRead+3<<20 {
		t.Errorf("%d bytes arrive: %v", size, err)
	}
	var out bytes.Buffer
	isBroken := c.reportWatched(&out, false)
	if isBroken || len(test.lines) > 0 || !strings.Contains(out.String(), "not checked: GET /things: the response has more than") {
		t.Errorf("the test is told %q, the ledger %s", test.lines, &out)
	}
}

// The longest response that is kept is judged.
func TestWatchLongestBody(t *testing.T) {
	t.Parallel()
	test := &told{}
	body := `{"id":1}` + strings.Repeat(" ", scenario.MostRead-len(`{"id":1}`))
	Watch(test, []byte(watchDocument), respond(200, body, isJSON)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/things/1", http.NoBody))
	if len(test.lines) != 1 || !strings.Contains(test.lines[0], "body /name: required: is missing") {
		t.Errorf("the test is told %q", test.lines)
	}
}

// A handler does the same with Watch as without, on a server and with a recorder.
func TestWatchChangesNothing(t *testing.T) {
	t.Parallel()
	date := regexp.MustCompile(`Date: .*`)
	for name, handler := range map[string]http.HandlerFunc{
		"nothing":   func(http.ResponseWriter, *http.Request) {},
		"a status":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"no status": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"two parts": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<ht")
			_, _ = io.WriteString(w, "ml>")
		},
		"204":            func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204); _, _ = io.WriteString(w, "text") },
		"304":            func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `"1"`); w.WriteHeader(304) },
		"http.Error":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) },
		"http.Redirect":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) },
		"an empty write": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) },
		"no media type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "a")
		},
		"a late header": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "a")
			w.Header().Set("Late", "1")
		},
		"a late header after a status": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			w.Header().Set("Late", "1")
			_, _ = io.WriteString(w, "a")
		},
		"a trailer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Sum")
			_, _ = io.WriteString(w, "a")
			w.Header().Set("Sum", "7")
		},
		"a flush": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "a")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "b")
		},
		"a flush first": func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "b")
		},
		"a long body":             func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte("a"), 50_000)) },
		"the body of the request": func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) },
		"a deadline": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)))
		},
		"a hijacked connection": func(w http.ResponseWriter, _ *http.Request) {
			taker, can := w.(http.Hijacker)
			if !can {
				http.Error(w, "cannot", 500)
				return
			}
			conn, _, err := taker.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		},
		"an early hint": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a.css>")
			w.WriteHeader(103)
			w.WriteHeader(200)
		},
		"a panic": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "a")
			panic(http.ErrAbortHandler)
		},
		"the writer as a type": func(w http.ResponseWriter, _ *http.Request) {
			_, isFlusher := w.(http.Flusher)
			_, isHijacker := w.(http.Hijacker)
			fmt.Fprint(w, isFlusher, isHijacker)
		},
	} {
		c, err := New([]byte(watchDocument), Options{})
		must.NoError(t, err)
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			ask := func(handler http.Handler) (served, recorded string) {
				server := httptest.NewServer(handler)
				defer server.Close()
				request, err := http.NewRequest(method, server.URL+"/other", strings.NewReader("sent"))
				must.NoError(t, err)
				client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
				resp, err := client.Do(request)
				if err != nil {
					return "none", ""
				}
				defer resp.Body.Close()
				dump, _ := httputil.DumpResponse(resp, true)
				served = date.ReplaceAllString(string(dump), "") + fmt.Sprint(resp.Trailer)
				if name == "a panic" || name == "a hijacked connection" {
					return served, ""
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(method, "/other", strings.NewReader("sent")))
				dump, _ = httputil.DumpResponse(w.Result(), true)
				return served, string(dump) + fmt.Sprint(w.Result().Trailer, w.Flushed)
			}
			wantServed, wantRecorded := ask(handler)
			served, recorded := ask(c.Watch(nil, handler))
			if served != wantServed || recorded != wantRecorded {
				t.Errorf("%s, %s: with Watch\n%s\n%s\nwithout\n%s\n%s", name, method, served, recorded, wantServed, wantRecorded)
			}
		}
	}
}
