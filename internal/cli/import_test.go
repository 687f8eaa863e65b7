package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Export, import and export again give the same file in both formats, also for
// unusual plants and for the largest.
func TestExportImportExport(t *testing.T) {
	t.Parallel()
	first := serve(t, "plantstore.db")
	plants := []client.Plant{
		{ID: -9223372036854775808, Name: ""},
		{ID: -1, Name: "zero\x00byte", Tag: new("")},
		{ID: 0, Name: "quotes \" and '\"'", Tag: new(`""`)},
		{ID: 1, Name: "a\nb\rc\r\nd\r", Tag: new("\r\n")},
		{ID: 2, Name: ",", Tag: new(" ")},
		{ID: 3, Name: "\ufeff\u2028\u2029<&>", Tag: new("銀杏")},
		{ID: 100, Name: strings.Repeat("x", 1000), Tag: new(strings.Repeat("x", 256))},
		{ID: 101, Name: strings.Repeat("🌵", 1000), Tag: new(strings.Repeat("🌵", 256))},
		{ID: 102, Name: strings.Repeat("\x00", 1000), Tag: new(strings.Repeat("\x00", 256))},
		{ID: 9223372036854775807, Name: "last", Tag: new("null")},
	}
	for _, p := range plants {
		body, err := json.Marshal(plantapi.NewPlant{ID: p.ID, Name: p.Name, Tag: p.Tag})
		if err != nil {
			t.Fatal(err)
		}
		first.want(t, http.StatusOK, http.MethodPost, "/plants", string(body))
	}
	for _, format := range []string{"csv", "ndjson"} {
		t.Run(format, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "plants."+format)
			first.do(t, "export", file)
			second := serve(t, "plantstore.db")
			if out := second.do(t, "import", file); !strings.HasPrefix(out, "10 new, 0 already there, 0 refused, in ") {
				t.Errorf("import says %s", out)
			}
			again := filepath.Join(t.TempDir(), "again."+format)
			second.do(t, "export", again)
			a, b := readFile(t, file), readFile(t, again)
			if !bytes.Equal(a, b) || len(a) < 7000 {
				t.Errorf("the export has %d bytes, and %d different ones after an import", len(a), len(b))
			}
		})
	}
}

// Lost responses and a service that is busy or broken delay an import and an
// export, but do not change their result.
func TestImportThroughFaults(t *testing.T) {
	t.Parallel()
	r := serve(t, "plantstore.db")
	var requests atomic.Int64
	proxy := startProxy(t, r.url, func(w http.ResponseWriter, req *http.Request, forward http.Handler) {
		switch requests.Add(1) {
		case 2: // the plants are stored, and the response is lost
			forward.ServeHTTP(httptest.NewRecorder(), req)
			panic(http.ErrAbortHandler)
		case 3:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 5:
			w.WriteHeader(http.StatusBadGateway)
		case 6: // cut short
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("{"))
		default:
			forward.ServeHTTP(w, req)
		}
	})
	file := filepath.Join(t.TempDir(), "plants.csv")
	writePlants(t, file, 2500)
	through := r.with(proxy, r.token)
	began := time.Now()
	// Plants whose response was lost may be new or not.
	sum := regexp.MustCompile(`^(1,500 new, 0 already there, 0 refused, 1,000|2,000 new, 0 already there, 0 refused, 500) new or already there, in `)
	if out := through.do(t, "import", file); !sum.MatchString(out) {
		t.Errorf("import says %s", out)
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("the import took %v, want more than the second of Retry-After", took)
	}
	if requests.Load() < 6 {
		t.Errorf("%d requests were sent, too few to meet every fault", requests.Load())
	}
	requests.Store(1)
	if out := through.do(t, "export"); out != string(readFile(t, file)) {
		t.Errorf("the export differs from the import: %.300s", out)
	}
	if requests.Load() < 6 {
		t.Errorf("the export sent %d requests, too few to meet every fault", requests.Load())
	}
}

// progressLine matches the lines that a command prints every five seconds.
var progressLine = regexp.MustCompile(`(?m)^[0-9,]+ plants, .*\n`)

// Ctrl-C stops an import after the requests under way, and running it again
// completes it.
func TestStoppedImportCanBeRepeated(t *testing.T) {
	t.Parallel()
	r := serve(t, "plantstore.db")
	var requests, cut atomic.Int64
	third, goOn := make(chan struct{}), make(chan struct{})
	proxy := startProxy(t, r.url, func(w http.ResponseWriter, req *http.Request, forward http.Handler) {
		if n := requests.Add(1); n == 3 {
			close(third)
			<-goOn
		} else if n > 3 {
			<-goOn
		}
		forward.ServeHTTP(w, req)
		if req.Context().Err() != nil {
			cut.Add(1)
		}
	})
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release) // or the proxy would wait for its requests
	file := filepath.Join(t.TempDir(), "plants.csv")
	writePlants(t, file, 20_000)
	// The file is a pipe that never ends: the import must not wait for it.
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	defer pw.Close()
	go func() { _, _ = pw.Write(readFile(t, file)) }()
	cmd := r.with(proxy, r.token).command(t, "import", "--format", "csv", "-")
	cmd.Stdin = pr
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the third request of the import", third)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(500*time.Millisecond, release) // it has heard the signal by then
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("an import that was stopped ends with %v, want exit status 130", err)
	}
	if want := "plantstore: import: stopped: run it again to complete it; no plant is stored twice\n"; progressLine.ReplaceAllString(stderr.String(), "") != want {
		t.Errorf("import says %q, want %q", stderr.String(), want)
	}
	stopped := r.do(t, "export")
	count := strings.Count(stopped, "\n") - 1
	// On a slow machine a request is cut off after five seconds. Then the
	// import does not know that its plants are stored.
	want := humanize.Comma(int64(count)) + " new, 0 already there, 0 refused, "
	if !strings.HasPrefix(stdout.String(), want) && cut.Load() == 0 {
		t.Errorf("import says %q, but %d plants are stored", stdout.String(), count)
	}
	if count == 0 || count >= 20_000 {
		t.Errorf("%d plants were stored before the end", count)
	}
	if out, want := r.do(t, "import", file), fmt.Sprintf("%s new, %s already there, 0 refused, in ",
		humanize.Comma(int64(20_000-count)), humanize.Comma(int64(count))); !strings.HasPrefix(out, want) {
		t.Errorf("the second import says %q, want %q", out, want)
	}
	if r.do(t, "export") != string(readFile(t, file)) {
		t.Error("the export differs from the file that was imported in two parts")
	}
}

// A batch with many bad rows takes a few requests for each bad row at most, and
// stores every other row.
func TestBadRowsDoNotFailOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ every, requests int }{
		"one in a thousand": {1000, 4}, "one in ten": {10, 500}, "all": {1, 2000},
	} {
		every := test.every
		t.Run(name, func(t *testing.T) {
			r := serve(t, "plantstore.db")
			taken, file := filepath.Join(t.TempDir(), "taken.csv"), filepath.Join(t.TempDir(), "plants.csv")
			var before, want strings.Builder
			before.WriteString("id,name,tag\n")
			want.WriteString("id,name,tag\n")
			for id := 1; id <= 1000; id++ {
				line := fmt.Sprintf("%d,plant,\n", id)
				if id%every == 0 {
					line = fmt.Sprintf("%d,another,\n", id)
					before.WriteString(line)
				}
				want.WriteString(line)
			}
			if err := os.WriteFile(taken, []byte(before.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			r.do(t, "import", taken)
			writePlants(t, file, 1000)
			var requests atomic.Int64
			proxy := startProxy(t, r.url, func(w http.ResponseWriter, req *http.Request, forward http.Handler) {
				requests.Add(1)
				forward.ServeHTTP(w, req)
			})
			cmd := r.with(proxy, r.token).command(t, "import", file)
			out, err := cmd.Output()
			bad := int64(1000 / every)
			if says := fmt.Sprintf("%d new, 0 already there, %s refused, in ", 1000-bad, humanize.Comma(bad)); err == nil || !strings.HasPrefix(string(out), says) {
				t.Errorf("import says %q, %v, want %q", out, err, says)
			}
			if got := r.do(t, "export"); got != want.String() {
				t.Error("not all good rows are stored")
			}
			if requests.Load() > int64(test.requests) {
				t.Errorf("%d bad rows took %d requests, want at most %d", bad, requests.Load(), test.requests)
			}
		})
	}
}

// No request is larger than a service accepts, for any plants.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	r := serve(t, "plantstore.db")
	var requests, refused atomic.Int64
	proxy := startProxy(t, r.url, func(w http.ResponseWriter, req *http.Request, forward http.Handler) {
		requests.Add(1)
		if req.ContentLength < 0 || req.ContentLength > 1<<20 {
			refused.Add(1)
		}
		forward.ServeHTTP(w, req)
	})
	for name, test := range map[string]struct{ plants, size, requests int }{
		"small ones": {2500, 10, 3}, "large ones": {3000, 1000, 6},
	} {
		t.Run(name, func(t *testing.T) {
			requests.Store(0)
			var file strings.Builder
			file.WriteString("id,name\n")
			for i := range test.plants {
				fmt.Fprintf(&file, "%d,%s\n", test.size*10_000+i, strings.Repeat("x", test.size))
			}
			name := filepath.Join(t.TempDir(), "plants.csv")
			if err := os.WriteFile(name, []byte(file.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			r.with(proxy, r.token).do(t, "import", name)
			if requests.Load() != int64(test.requests) || refused.Load() != 0 {
				t.Errorf("%d requests, %d of them too large, want %d", requests.Load(), refused.Load(), test.requests)
			}
		})
	}
}

// startProxy starts a handler between the commands and the service.
func startProxy(t *testing.T, target string, handle func(http.ResponseWriter, *http.Request, http.Handler)) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, forward) }))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// writePlants writes a file in the format of export.
func writePlants(t *testing.T, name string, plants int) {
	t.Helper()
	var file bytes.Buffer
	file.WriteString("id,name,tag\n")
	for id := 1; id <= plants; id++ {
		fmt.Fprintf(&file, "%d,plant,\n", id)
	}
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
