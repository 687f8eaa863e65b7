package system_test

import (
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

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Ctrl-C stops an import after the requests under way, and running it again
// completes it.
func TestStoppedImportCanBeRepeated(t *testing.T) {
	t.Parallel()
	r := program.Serve(t, "plantstore.db")
	var requests, forwarded, cut atomic.Int64
	third, goOn := make(chan struct{}), make(chan struct{})
	target, err := url.Parse(r.URL)
	must.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n := requests.Add(1)
		if n == 3 {
			close(third)
		}
		if n >= 3 {
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
	}))
	t.Cleanup(proxy.Close)
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release) // or the proxy would wait for its requests
	var all strings.Builder
	for id := range 20_000 {
		fmt.Fprintf(&all, `{"id":%d,"name":"plant"}`+"\n", id)
	}
	plants := all.String()
	file := filepath.Join(t.TempDir(), "plants.ndjson")
	must.NoError(t, os.WriteFile(file, []byte(plants), 0o600))
	// The file is a pipe that never ends: the import must not wait for it.
	pr, pw, err := os.Pipe()
	must.NoError(t, err)
	defer pr.Close()
	defer pw.Close()
	go func() { _, _ = pw.WriteString(plants) }()
	cmd := r.With(proxy.URL, r.Token).Command(t, "import", "--format", "ndjson", "-")
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
	const stops = "plantstore: import: stopped: run it again to complete it; no plant is stored twice\n"
	progress := regexp.MustCompile(`(?m)^[0-9,]+ plants, .*\n`) // every five seconds
	if progress.ReplaceAllString(stderr.String(), "") != stops {
		t.Errorf("import says %q, want %q", stderr.String(), stops)
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
