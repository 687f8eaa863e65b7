package cli

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/store/pgtest"
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

func memoryClients(t *testing.T) int {
	text := os.Getenv("PLANTSTORE_TEST_MEMORY_CLIENTS")
	if text == "" {
		return 4
	}
	clients, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func tryMemory(t *testing.T, clients int, store string) {
	const (
		bound = 512 << 20   // with the defaults of both flags
		large = 1<<20 - 100 // so that a body is as large as it may be
	)
	r, err := launch(t.TempDir(), append(os.Environ(), "PLANTSTORE_TOKEN=", "PLANTSTORE_STORE="+store), "--addr", "127.0.0.1:0", "--print-token")
	if err != nil {
		t.Fatal(err)
	}
	defer r.kill()
	peak := r.watchMemory(t)
	client := &http.Client{Timeout: longEnough, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	for i, c := range []struct {
		method, path, body string
		size               int
		want               int
	}{
		{"POST", "/plants", `{"id":%d,"name":"n","tag":"%s"}`, large, 200},
		{"PUT", "/plants/%d", `{"name":"%s"}`, large, 200},
		{"POST", "/plants:batch", `{"plants":[{"id":-%d,"name":"%s"}]}`, large, 200},
		{"PATCH", "/plants/%d", `{"name":"%s"}`, large, 200},
		// A small request to a large plant reads and writes many bytes.
		{"PATCH", "/plants/%d", `{"tag":"%s"}`, 1, 200},
		{"POST", "/plants", `{"id":%d,"name":"%s"}`, 1, 400},
		{"POST", "/plants:batch", `{"plants":[{"id":-%d,"name":"%s"}]}`, 1, 400},
		{"DELETE", "/plants/%d", "%.0s", 1, 204},
	} {
		text := strings.Repeat(string(rune('a'+i)), c.size)
		var wg sync.WaitGroup
		for id := 1; id <= clients; id++ {
			wg.Go(func() {
				path, args := c.path, []any{id, text}
				if strings.Contains(path, "%d") {
					path, args = fmt.Sprintf(path, id), args[1:]
				}
				if err := r.insist(client, c.method, path, fmt.Sprintf(c.body, args...), c.want); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	most := peak.Load()
	t.Logf("figures: %d clients with bodies of 1 MiB: at most %d MiB of memory", clients, most>>20)
	if most > bound || most == 0 {
		t.Errorf("the program took %d MiB of memory, want at most %d", most>>20, bound>>20)
	}
}

// TestMemoryOfChanges lets many clients request five plants of 1 MiB, which take 6 MiB
// of JSON each, and not read them. PLANTSTORE_TEST_MEMORY_CLIENTS is the number of clients.
func TestMemoryOfChanges(t *testing.T) {
	t.Parallel()
	const bound = 768 << 20 // maxUnread of the lists and the memory of TestMemory
	clients, size := memoryClients(t), 1<<20
	if clients < 10 {
		size = 1 << 14 // make memory has the figures, this is quick
	}
	r, err := launch(t.TempDir(), append(os.Environ(), "PLANTSTORE_TOKEN="), "--addr", "127.0.0.1:0", "--print-token",
		"--max-body", "8MiB", "--max-in-flight", "64") // 512 MiB, as by default
	if err != nil {
		t.Fatal(err)
	}
	defer r.kill()
	after := r.present(t)
	for id := range 5 {
		body := fmt.Sprintf(`{"id":%d,"name":"%s"}`, id, strings.Repeat(`\u0001`, size))
		if err := r.insist(http.DefaultClient, http.MethodPost, "/plants", body, 200); err != nil {
			t.Fatal(err)
		}
	}
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error { // the kernel keeps little for a client
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	peak := r.watchMemory(t)
	for _, path := range []string{"/changes?limit=1000&after=", "/changes:stream?after="} {
		peak.Store(0)
		var wg sync.WaitGroup
		for range clients {
			conn, err := small.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(longEnough))
			fmt.Fprintf(conn, "GET %s%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, after, r.token)
			wg.Go(func() {
				if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 200"))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()                               // all pages are being written, or refused
		most := max(peak.Load(), r.ownMemory()) // a quick run may end before the first look
		t.Logf("figures: %d clients that do not read %.15s: at most %d MiB of memory", clients, path, most>>20)
		if most > bound || most == 0 {
			t.Errorf("%s: the program took %d MiB of memory, want at most %d", path, most>>20, bound>>20)
		}
	}
}

// insist repeats a request while the service is unavailable, and expects the
// given status after that.
func (r *running) insist(client *http.Client, method, path, body string, want int) error {
	mediaType := "application/json"
	if method == http.MethodPatch {
		mediaType = "application/merge-patch+json"
	}
	for end := time.Now().Add(2 * longEnough); ; {
		req, _ := http.NewRequest(method, r.url+path, bytes.NewReader([]byte(body)))
		req.Header = http.Header{"Authorization": {"Bearer " + r.token}, "Content-Type": {mediaType}}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		switch {
		case resp.StatusCode == want:
			return nil
		case resp.StatusCode != http.StatusServiceUnavailable || time.Now().After(end):
			return fmt.Errorf("%s %s: %s", method, path, resp.Status)
		}
		time.Sleep(time.Second)
	}
}

// watchMemory records the most memory of its own that the program has used so far.
func (r *running) watchMemory(t *testing.T) *atomic.Int64 {
	var peak atomic.Int64
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for tick := time.Tick(10 * time.Millisecond); ; {
			peak.Store(max(peak.Load(), r.ownMemory()))
			select {
			case <-tick:
			case <-done:
				return
			}
		}
	})
	t.Cleanup(func() { close(done); wg.Wait() })
	return &peak
}

// ownMemory returns how much memory the program uses, in bytes, without the
// pages of files, which the kernel can reclaim.
func (r *running) ownMemory() int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "RssAnon: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
