package system_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// progressLine matches the lines that a command prints every five seconds.
var progressLine = regexp.MustCompile(`(?m)^[0-9,]+ plants, .*\n`)

// Ctrl-C stops an import after the requests under way, and running it again
// completes it.
func TestStoppedImportCanBeRepeated(t *testing.T) {
	t.Parallel()
	r := program.Serve(t, "plantstore.db")
	var requests, forwarded, cut atomic.Int64
	third, goOn := make(chan struct{}), make(chan struct{})
	proxy := startProxy(t, r.URL, func(w http.ResponseWriter, req *http.Request, forward http.Handler) {
		if n := requests.Add(1); n == 3 {
			close(third)
			<-goOn
		} else if n > 3 {
			<-goOn
		}
		defer func() {
			if req.Context().Err() != nil {
				cut.Add(1)
			}
			forwarded.Add(1)
		}()
		// The service stores the plants also if the import closes the connection meanwhile.
		forward.ServeHTTP(w, req.WithContext(t.Context()))
	})
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release) // or the proxy would wait for its requests
	plants := plantsNDJSON(20_000, "plant")
	file := written(t, "plants.ndjson", plants)
	// The file is a pipe that never ends: the import must not wait for it.
	pr, pw, err := os.Pipe()
	must.NoError(t, err)
	defer pr.Close()
	defer pw.Close()
	go func() { _, _ = pw.WriteString(plants) }()
	cmd := r.With(proxy, r.Token).Command(t, "import", "--format", "ndjson", "-")
	cmd.Stdin = pr
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	must.NoError(t, cmd.Start())
	wait.For(t, "the third request of the import", third)
	must.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	time.AfterFunc(500*time.Millisecond, release) // it has heard the signal by then
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("an import that was stopped ends with %v, want exit status 130", err)
	}
	if want := "plantstore: import: stopped: run it again to complete it; no plant is stored twice\n"; progressLine.ReplaceAllString(stderr.String(), "") != want {
		t.Errorf("import says %q, want %q", stderr.String(), want)
	}
	wait.Until(t, "the service has responded", func() bool { return forwarded.Load() == requests.Load() })
	stopped := r.Do(t, "export", "--format", "ndjson")
	count := strings.Count(stopped, "\n")
	// On a slow machine a request is cut off after five seconds. Then the
	// import does not know that its plants are stored.
	want := humanize.Comma(int64(count)) + " new, 0 already there, 0 refused, "
	if !strings.HasPrefix(stdout.String(), want) && cut.Load() == 0 {
		t.Errorf("import says %q, but %d plants are stored", stdout.String(), count)
	}
	if count == 0 || count >= 20_000 {
		t.Errorf("%d plants were stored before the end", count)
	}
	if out, want := r.Do(t, "import", file), fmt.Sprintf("%s new, %s already there, 0 refused, in ",
		humanize.Comma(int64(20_000-count)), humanize.Comma(int64(count))); !strings.HasPrefix(out, want) {
		t.Errorf("the second import says %q, want %q", out, want)
	}
	if r.Do(t, "export", "--format", "ndjson") != plants {
		t.Error("the export differs from the file that was imported in two parts")
	}
}

// A batch with many bad rows takes a few requests for each bad row at most, and
// stores every other row. No request is larger than a service accepts, for any plants.
func TestBatches(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ rows, length, every, requests int }{
		"one bad row in a thousand": {1000, 5, 1000, 4}, "one in ten": {1000, 5, 10, 500}, "all": {200, 5, 1, 400},
		"small plants": {2500, 10, 0, 3}, "large plants": {3000, 1000, 0, 12},
	} {
		t.Run(name, func(t *testing.T) {
			r := program.Serve(t, "plantstore.db")
			name := strings.Repeat("é", test.length)
			file := plantsNDJSON(test.rows, name)
			want, taken, bad := file, "", 0
			for id := test.every; test.every > 0 && id <= test.rows; id += test.every {
				line := fmt.Sprintf(`{"id":%d,"name":"another"}`+"\n", id)
				taken += line
				want = strings.Replace(want, fmt.Sprintf(`{"id":%d,"name":"%s"}`+"\n", id, name), line, 1)
				bad++
			}
			if bad > 0 {
				r.Do(t, "import", written(t, "taken.ndjson", taken))
			}
			var requests, tooLarge atomic.Int64
			proxy := startProxy(t, r.URL, func(w http.ResponseWriter, req *http.Request, forward http.Handler) {
				if req.ContentLength < 0 || req.ContentLength > 1<<20 {
					tooLarge.Add(1)
				}
				counted(&requests, w, req, forward)
			})
			cmd := r.With(proxy, r.Token).Command(t, "import", written(t, "plants.ndjson", file))
			out, err := cmd.Output()
			says := humanize.Comma(int64(test.rows-bad)) + " new, 0 already there, " + humanize.Comma(int64(bad)) + " refused, in "
			if (err == nil) != (bad == 0) || !strings.HasPrefix(string(out), says) {
				t.Errorf("import says %q, %v, want %q", out, err, says)
			}
			if got := r.Do(t, "export", "--format", "ndjson"); got != want {
				t.Error("not all good rows are stored")
			}
			if requests.Load() > int64(test.requests) || tooLarge.Load() > 0 {
				t.Errorf("%d requests, %d of them too large, want at most %d", requests.Load(), tooLarge.Load(), test.requests)
			}
		})
	}
}

// Refused rows are reported and written in the order of the file, also if the
// responses come in another order.
func TestRejectsAreInOrder(t *testing.T) {
	t.Parallel()
	r := program.Serve(t, "plantstore.db")
	dir := t.TempDir()
	var taken, file, want strings.Builder
	taken.WriteString("id,name,tag\n")
	file.WriteString("id,name,tag\n")
	want.WriteString("line,reason,id,name,tag\n")
	for id := 1; id <= 3000; id++ {
		row, reason := fmt.Sprintf("%d,plant,", id), ""
		switch id % 250 {
		case 0:
			fmt.Fprintf(&taken, "%d,another,\n", id)
			reason = fmt.Sprintf("another plant has the id %d", id)
		case 100:
			row, reason = ",plant,", "id is missing"
		}
		fmt.Fprintln(&file, row)
		if reason != "" {
			fmt.Fprintf(&want, "%d,%s,%s\n", id+1, reason, row)
		}
	}
	writeFiles(t, dir, map[string]string{"taken.csv": taken.String(), "plants.csv": file.String()})
	r.Do(t, "import", filepath.Join(dir, "taken.csv"))
	var requests, ended atomic.Int64
	later := make(chan struct{})
	proxy := startProxy(t, r.URL, func(w http.ResponseWriter, req *http.Request, forward http.Handler) {
		if requests.Add(1) == 1 { // delay the first batch
			select {
			case <-later:
			case <-time.After(wait.Limit):
				t.Error("no other request was sent while the first waits")
			}
		}
		forward.ServeHTTP(w, req)
		if ended.Add(1) == 10 {
			close(later)
		}
	})
	rejects := filepath.Join(dir, "rejects.csv")
	cmd := r.With(proxy, r.Token).Command(t, "import", filepath.Join(dir, "plants.csv"), "--rejects", rejects)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("import ends with %v, want exit status 2\n%s", err, &stderr)
	}
	if got, err := os.ReadFile(rejects); err != nil || string(got) != want.String() {
		t.Errorf("the file of refused rows, %v (-want +got):\n%s", err, cmp.Diff(want.String(), string(got)))
	}
	var lines []int
	for _, m := range regexp.MustCompile(`(?m)^line (\d+): `).FindAllStringSubmatch(stderr.String(), -1) {
		line, _ := strconv.Atoi(m[1])
		lines = append(lines, line)
	}
	if len(lines) != 24 || !slices.IsSorted(lines) {
		t.Errorf("stderr names the lines %v, want 24 in order", lines)
	}
}

// startProxy starts a handler between the commands and the service.
func startProxy(t *testing.T, target string, handle func(http.ResponseWriter, *http.Request, http.Handler)) string {
	t.Helper()
	u, err := url.Parse(target)
	must.NoError(t, err)
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, forward) }))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// counted forwards a request and counts it, unless the service has no time for it: then the
// command sends it again.
func counted(n *atomic.Int64, w http.ResponseWriter, req *http.Request, forward http.Handler) {
	response := httptest.NewRecorder()
	forward.ServeHTTP(response, req)
	if response.Code < http.StatusInternalServerError {
		n.Add(1)
	}
	maps.Copy(w.Header(), response.Header())
	w.WriteHeader(response.Code)
	_, _ = response.Body.WriteTo(w)
}

// plantsNDJSON returns a file in the format of export. Unlike CSV, it does not name the
// members that the plants do not have.
func plantsNDJSON(n int, name string) string {
	var file strings.Builder
	for id := 1; id <= n; id++ {
		fmt.Fprintf(&file, `{"id":%d,"name":"%s"}`+"\n", id, name)
	}
	return file.String()
}

// written writes a file to a new folder, and returns its path.
func written(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{name: text})
	return filepath.Join(dir, name)
}
