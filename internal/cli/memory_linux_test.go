package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// TestMemory sends many of the largest bodies at once and compares the memory
// of the program with the limit in the manual: --max-in-flight times
// --max-body. Every request must succeed, if necessary after retries.
// PLANTSTORE_TEST_MEMORY_CLIENTS is the number of clients.
func TestMemory(t *testing.T) {
	t.Parallel()
	clients := memoryClients(t)
	t.Run("sqlite", func(t *testing.T) { tryMemory(t, clients, "plantstore.db") })
	t.Run("postgres", func(t *testing.T) { tryMemory(t, clients, pgtest.DSN(t)) })
}

func memoryClients(t *testing.T) int { return must.Number(t, "PLANTSTORE_TEST_MEMORY_CLIENTS", 4) }

func tryMemory(t *testing.T, clients int, store string) {
	const (
		bound = 512 << 20   // with the defaults of both flags
		large = 1<<20 - 100 // so that a body is as large as it may be
	)
	r := serve(t, store)
	client := &http.Client{Timeout: wait.Limit, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	filler := strings.Repeat("x", large)
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/plants", `{"id":%d,"name":"n","unknown":"` + filler + `"}`, 200},
		{"PUT", "/plants/%d", `{"name":"new","unknown":"` + filler + `"}`, 200},
		{"PATCH", "/plants/%d", `{"tag":"new","unknown":"` + filler + `"}`, 200},
		{"POST", "/plants", `{"id":%d,"name":"` + filler + `"}`, 400},
		{"POST", "/plants:batch", "", 200}, // as many of the largest plants as fit
		{"DELETE", "/plants/%d", "", 204},
	} {
		var wg sync.WaitGroup
		for id := 1; id <= clients; id++ {
			wg.Go(func() {
				path, body := c.path, c.body
				switch {
				case strings.Contains(path, "%d"):
					path = fmt.Sprintf(path, id)
				case strings.Contains(body, "%d"):
					body = fmt.Sprintf(body, id)
				default:
					body = largestPlants(1000*id, large)
				}
				r.insist(t, client, c.method, path, body, c.want)
			})
		}
		wg.Wait()
	}
	r.wantMemory(t, bound, fmt.Sprint(clients, " clients with bodies of 1 MiB"))
}

// largestPlants returns the body of a batch of at most size bytes.
func largestPlants(first, size int) string {
	var b strings.Builder
	for id := first; ; id++ {
		p := fmt.Sprintf(`,{"id":%d,"name":"%s","tag":"%s"}`, id, strings.Repeat("x", plant.MaxName), strings.Repeat("x", plant.MaxTag))
		if b.Len()+len(p) > size {
			return `{"plants":[` + b.String()[1:] + `]}`
		}
		b.WriteString(p)
	}
}

// TestMemoryOfChanges lets many clients request the largest page of changes, which has
// 7.7 MB, and not read it. PLANTSTORE_TEST_MEMORY_CLIENTS is the number of clients.
func TestMemoryOfChanges(t *testing.T) {
	t.Parallel()
	const bound = 768 << 20 // maxUnread of the lists and the memory of TestMemory
	clients := memoryClients(t)
	r := serve(t, "plantstore.db")
	after := r.present(t)
	r.createLargest(t)
	for _, path := range []string{"/changes?limit=1000&after=", "/changes:stream?after="} {
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				if _, _, err := r.request(t.Context(), path+after); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait() // all pages are being written, or refused
		r.wantMemory(t, bound, fmt.Sprintf("%d clients that do not read %.15s", clients, path))
	}
}

// createLargest creates the thousand largest plants, and a hundred ordinary ones after them.
func (r *running) createLargest(t *testing.T) {
	t.Helper()
	for id := 0; id < 1100; id += 100 {
		texts := fmt.Sprintf(`"name":"%s","tag":"%s"`, strings.Repeat(`\u0001`, plant.MaxName), strings.Repeat(`\u0001`, plant.MaxTag))
		if id == 1000 {
			texts = `"name":"Ficus lyrata","tag":"Moraceae"`
		}
		plants := make([]string, 100)
		for i := range plants {
			plants[i] = fmt.Sprintf(`{"id":%d,%s}`, id+i, texts)
		}
		r.insist(t, http.DefaultClient, http.MethodPost, "/plants:batch",
			`{"plants":[`+strings.Join(plants, ",")+`]}`, 200)
	}
}

// TestMemoryOfLists lets a thousand clients request the largest page and read 10 kB of it
// a second, for half a minute. Those that are refused or cut off request it again. Another
// client lists a hundred plants again and again, and must not wait for a second.
func TestMemoryOfLists(t *testing.T) {
	if os.Getenv("PLANTSTORE_TEST_MEMORY_CLIENTS") == "" {
		t.Skip("needs a minute: make memory runs this")
	}
	t.Parallel()
	const (
		slow  = 1000
		bound = 768 << 20 // maxUnread of the lists and the memory of TestMemory
	)
	r := serve(t, "plantstore.db")
	r.createLargest(t)
	ctx, end := context.WithCancel(t.Context())
	var clients, responses sync.WaitGroup
	defer clients.Wait()
	defer end()
	var unread atomic.Int64
	for range slow {
		responses.Add(1)
		responded := sync.OnceFunc(responses.Done)
		clients.Go(func() {
			defer responded()
			for ctx.Err() == nil {
				conn, status, err := r.request(ctx, "/plants?limit=1000")
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				responded()
				if status == http.StatusOK {
					unread.Add(1)
				} else if status != http.StatusServiceUnavailable {
					t.Errorf("a large list has the status %d", status)
				}
				for tick := time.Tick(100 * time.Millisecond); err == nil && status == http.StatusOK; <-tick {
					_, err = io.CopyN(io.Discard, conn, 1000)
				}
				conn.Close()
				select {
				case <-ctx.Done():
				case <-time.After(time.Second): // as Retry-After says
				}
			}
		})
	}
	all := make(chan struct{}) // have a response
	go func() { responses.Wait(); close(all) }()
	began, took := time.Now(), []time.Duration(nil)
	client := &http.Client{Timeout: wait.Limit}
	for ended := false; !ended; time.Sleep(10 * time.Millisecond) {
		sent := time.Now()
		resp, _, err := r.send(client, http.MethodGet, "/plants?limit=100&after=999", "")
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("another list is %+v, %v, after %v", resp, err, time.Since(sent))
		}
		took = append(took, time.Since(sent))
		select {
		case <-all:
			ended = time.Since(began) > 30*time.Second
		default:
		}
	}
	slices.Sort(took)
	t.Logf("figures: another list takes %v, 9 of 10 %v, at most %v", took[len(took)/2], took[len(took)*9/10],
		took[len(took)-1])
	r.wantMemory(t, bound, fmt.Sprint(slow, " clients that read large lists slowly"))
	if late := took[len(took)*9/10]; late > time.Second {
		t.Errorf("one of ten lists takes longer than %v, want less than a second", late)
	}
	const want = 30 // of 7.7 MB
	if n := unread.Load(); n < want {
		t.Errorf("only %d clients have had a large list, want at least %d: there is room for them in maxUnread", n, want)
	}
	began = time.Now()
	r.insist(t, http.DefaultClient, http.MethodGet, "/plants?limit=1000", "", 200)
	t.Logf("figures: then a large list takes %v", time.Since(began))
}

// request sends a GET, and returns once the status has come. The kernel keeps little
// of the rest for a client that does not read it. The connection is closed after ctx.
func (r *running) request(ctx context.Context, path string) (conn net.Conn, status int, err error) {
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	conn, err = small.DialContext(ctx, "tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		return nil, 0, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, r.token)
	_, err = fmt.Fscanf(conn, "HTTP/1.1 %d", &status)
	_ = conn.SetDeadline(time.Time{})
	return conn, status, err
}

// insist repeats a request while the service is unavailable, and expects the
// given status after that.
func (r *running) insist(t *testing.T, client *http.Client, method, path, body string, want int) {
	t.Helper()
	for end := time.Now().Add(2 * wait.Limit); ; time.Sleep(time.Second) {
		resp, _, err := r.send(client, method, path, body)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || time.Now().After(end) {
			if err != nil || resp.StatusCode != want {
				t.Errorf("%s %s = %+v, %v, want %d", method, path, resp, err, want)
			}
			return
		}
	}
}

// wantMemory fails if the program has ever used more memory.
func (r *running) wantMemory(t *testing.T, bound int64, what string) {
	t.Helper()
	most := r.memory("VmHWM")
	t.Logf("figures: %s: at most %d MiB of memory", what, most>>20)
	if most > bound || most == 0 {
		t.Errorf("%s: the program took %d MiB of memory, want at most %d", what, most>>20, bound>>20)
	}
}
