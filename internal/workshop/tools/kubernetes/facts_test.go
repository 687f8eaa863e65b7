package kubernetes

import (
	"net"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// facts are what the tests ask the program.
type facts struct {
	help  string
	drain time.Duration // how long requests in flight have when it stops
	gives time.Duration // how long it waits for a store that does not respond before it ends
}

func programFacts(t *testing.T) (f facts) {
	t.Helper()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a database that accepts connections and says nothing
	must.NoError(t, err)
	defer silent.Close()
	begin := time.Now()
	r, err := program.LaunchAdmin(container(t.TempDir(), []string{"PLANTSTORE_STORE=postgres://u@" + silent.Addr().String() + "/d"},
		[]string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"}))
	must.NoError(t, err)
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503} {
		if status, _, err := get(r.AdminURL, scraper, path, wait.Limit); err != nil || status != want {
			t.Errorf("while the program opens the store, %s is %d, %v, want %d", path, status, err, want)
		}
	}
	if r.Wait() == nil {
		t.Error("the program ends with 0 without a database")
	}
	f.gives = time.Since(begin)

	r = program.Serve(t, "sqlite::memory:")
	r.End(t, syscall.SIGTERM)
	drain := regexp.MustCompile(`"drain":"([^"]+)"`).FindStringSubmatch(r.Stderr.String())
	if drain == nil {
		t.Fatalf("the log does not say how long the program drains: %s", &r.Stderr)
	}
	f.drain, err = time.ParseDuration(drain[1])
	must.NoError(t, err)
	f.help = program.Output(t, "serve", "--help")
	return f
}
