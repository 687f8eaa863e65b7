//go:build !race

// The race detector makes the program take several times its memory.

package system_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

func memoryClients(t *testing.T) int { return must.Number(t, "PLANTSTORE_TEST_MEMORY_CLIENTS", 4) }

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

// largeRequest is a request with a large body, and how much memory the program may take for many of them.
type largeRequest struct {
	bound                    int64
	method, path, what, body string
}

// largeRequests begins with those that take less memory. The bodies at the end become large when they are
// decoded or checked, as the search of TestWorstShapeOfABody in package httpapi finds them.
func largeRequests(size int) []largeRequest {
	fill := func(item string) string { return strings.Repeat(","+item, size/(len(item)+1))[1:] }
	filler := strings.Repeat("x", size-40)
	var members strings.Builder
	for i := 0; members.Len() < size-20; i++ {
		fmt.Fprintf(&members, `,"%x":0`, i)
	}
	wrong := strings.Repeat(`,{"id":"","name":0,"tag":null}`, 1000)[1:]
	return []largeRequest{
		{400 << 20, "POST", "/plants:batch", "the largest plants", largestPlants(1000, size)},
		{400 << 20, "POST", "/plants", "an unknown text", `{"id":1,"name":"n","x":"` + filler + `"}`},
		{400 << 20, "PUT", "/plants/1", "an unknown text", `{"name":"new","x":"` + filler + `"}`},
		{400 << 20, "PATCH", "/plants/1", "an unknown text", `{"tag":"new","x":"` + filler + `"}`},
		{512 << 20, "POST", "/plants", "an unknown member of small objects", `{"id":1,"name":"n","x":[` + fill(`{"":{}}`) + `]}`},
		{512 << 20, "POST", "/plants", "a flat object", "{" + members.String()[1:] + "}"},
		{512 << 20, "POST", "/plants:batch", "small objects", `{"plants":[` + fill(`{}`) + `]}`},
		{512 << 20, "POST", "/plants:batch", "a thousand wrong plants", `{"plants":[` + wrong + `]}`},
		{512 << 20, "POST", "/plants:batch", "a name", `{"plants":[{"id":1,"name":"` + filler + `"}]}`},
	}
}

// TestMemory sends many large bodies at once, and compares the memory of the program with the limit in
// the manual. Each fourth client repeats a request that is refused, and must succeed. Other requests have
// their responses within a second, and succeed.
// PLANTSTORE_TEST_MEMORY_CLIENTS times four is the number of clients.
func TestMemory(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	clients := 4 * memoryClients(t)
	for name, store := range map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return "plantstore.db" },
		"postgres": func(t *testing.T) string { return pgtest.DSN(t) },
	} {
		t.Run(name, func(t *testing.T) {
			r := program.Serve(t, store(t))
			end := others(t, r)
			client := &http.Client{Timeout: wait.Limit, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
			defer client.CloseIdleConnections()
			for _, c := range largeRequests(1<<20 - 100) {
				name := fmt.Sprintf("%d × %s %s with %s", clients, c.method, c.path, c.what)
				send := func() (isRefused bool) {
					resp, _, err := r.Send(client, c.method, c.path, c.body)
					if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
						return true // it was cut off, and sent on before it read the 503
					}
					if err != nil || !slices.Contains([]int{200, 201, 400, 503}, resp.StatusCode) {
						t.Errorf("%s: %+v, %v", name, resp, err)
					}
					return err == nil && resp.StatusCode == http.StatusServiceUnavailable
				}
				var wg sync.WaitGroup
				for i := range clients {
					wg.Go(func() {
						isRefused := send()
						if i%4 > 0 {
							return
						}
						for end := time.Now().Add(2 * wait.Limit); isRefused && time.Now().Before(end); isRefused = send() {
							time.Sleep(200 * time.Millisecond)
						}
						if isRefused {
							t.Errorf("%s: is refused for two minutes", name)
						}
					})
				}
				wg.Wait()
				wantMemory(t, r, c.bound, name)
			}
			end()
		})
	}
}

// TestMemoryOfSlowBodies lets many clients send all but the end of a body of 1 MiB.
func TestMemoryOfSlowBodies(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	clients := 4 * memoryClients(t)
	r := program.Serve(t, "plantstore.db")
	end := others(t, r)
	sent := strings.Repeat(" ", 1<<20-100)
	var wg sync.WaitGroup
	for range clients {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "http://"))
		must.NoError(t, err)
		defer conn.Close()
		wg.Go(func() {
			_ = conn.SetDeadline(time.Now().Add(wait.Limit)) // one that is cut off may not take the whole body
			fmt.Fprintf(conn, "POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
				"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", r.Token, 1<<20, sent)
		})
	}
	wg.Wait()
	large := `{"id":1000000,"name":"n","x":"` + strings.Repeat("x", 1<<19) + `"}`
	resp, text, err := r.Send(&http.Client{Timeout: wait.Limit}, http.MethodPost, "/plants", large)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("another large body: %+v %s, %v", resp, text, err)
	}
	end()
	wantMemory(t, r, 512<<20, fmt.Sprint(clients, " clients that send bodies slowly"))
}

// others creates and lists plants all the time, until the function that it returns is called. That
// fails unless each request succeeds, and nine of ten within a second.
func others(t *testing.T, r *program.Server) (end func()) {
	t.Helper()
	var took []time.Duration
	client := &http.Client{Timeout: wait.Limit}
	id := 2_000_000
	stop := wait.Repeat(1, func(int) bool {
		id++
		for _, c := range []struct{ method, path, body string }{
			{http.MethodPost, "/plants", fmt.Sprintf(`{"id":%d,"name":"other"}`, id)},
			{http.MethodGet, "/plants?limit=100&after=1999999", ""},
		} {
			began := time.Now()
			resp, text, err := r.Send(client, c.method, c.path, c.body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("another client: %s %s: %+v %.200s, %v, after %v", c.method, c.path, resp, text, err, time.Since(began))
				return false
			}
			took = append(took, time.Since(began))
		}
		time.Sleep(5 * time.Millisecond)
		return true
	})
	return func() {
		t.Helper()
		stop()
		if len(took) == 0 {
			return // it has failed
		}
		slices.Sort(took)
		late := took[max(len(took)*9/10, 1)-1]
		t.Logf("figures: %d other requests take %v, 9 of 10 %v, at most %v", len(took), took[len(took)/2], late, took[len(took)-1])
		if late > time.Second {
			t.Errorf("one of ten other requests takes longer than %v, want less than a second", late)
		}
	}
}

// TestMemoryOfPages lets many clients request the largest pages, and not read them.
// PLANTSTORE_TEST_MEMORY_CLIENTS is the number of clients for pages of changes; eight times as many
// get a stream, and eight times as many a list.
func TestMemoryOfPages(t *testing.T) {
	t.Parallel()
	must.HaveTime(t)
	const bound = 384 << 20
	clients := memoryClients(t)
	r := program.Serve(t, "plantstore.db", "--max-streams", fmt.Sprint(2*(8*clients+clients))) // a token gets half of them
	after := present(t, r)
	createLargest(t, r)
	end := others(t, r)
	for path, n := range map[string]int{
		"/changes?limit=1000&after=" + after: clients,
		"/changes:stream?after=" + after:     8 * clients,
		"/plants?limit=1000":                 8 * clients,
	} {
		var wg sync.WaitGroup
		working := make(chan struct{}, 256) // half of the requests in flight: the others need some, too
		for range n {
			wg.Go(func() {
				working <- struct{}{}
				_, status, err := request(t.Context(), r, path)
				<-working
				if err != nil || status != http.StatusOK {
					t.Errorf("%s: %d, %v", path, status, err)
				}
			})
		}
		wg.Wait()               // all pages are being written
		time.Sleep(time.Second) // with others beside them
		wantMemory(t, r, bound, fmt.Sprintf("%d clients that do not read %.15s", n, path))
	}
	end()
}

// createLargest creates the thousand largest plants, and a hundred ordinary ones after them.
func createLargest(t *testing.T, r *program.Server) {
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
		r.Want(t, http.StatusOK, http.MethodPost, "/plants:batch", `{"plants":[`+strings.Join(plants, ",")+`]}`)
	}
}

// request sends a GET, and returns once the status has come. The kernel keeps little
// of the rest for a client that does not read it. The connection is closed after ctx.
func request(ctx context.Context, r *program.Server, path string) (conn net.Conn, status int, err error) {
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	conn, err = small.DialContext(ctx, "tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		return nil, 0, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, r.Token)
	_, err = fmt.Fscanf(conn, "HTTP/1.1 %d", &status)
	_ = conn.SetDeadline(time.Time{})
	return conn, status, err
}

// wantMemory fails if the program has ever used more memory.
func wantMemory(t *testing.T, r *program.Server, bound int64, what string) {
	t.Helper()
	most := r.Memory("VmHWM")
	t.Logf("figures: %s: at most %d MiB of memory", what, most>>20)
	if most > bound || most == 0 {
		t.Errorf("%s: the program took %d MiB of memory, want at most %d", what, most>>20, bound>>20)
	}
}
