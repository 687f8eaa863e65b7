package kubernetes

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"time"
)

// facts are what the tests ask the program.
type facts struct {
	help  string
	drain time.Duration // how long requests in flight have when it stops
	gives time.Duration // how long it waits for a store that does not respond before it ends
}

var programFacts = sync.OnceValues(func() (f facts, err error) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a database that accepts connections and says nothing
	if err != nil {
		return f, err
	}
	defer silent.Close()
	begin := time.Now()
	s, err := start(os.TempDir(), []string{"PLANTSTORE_STORE=postgres://u@" + silent.Addr().String() + "/d"},
		[]string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"}, false)
	if err != nil {
		return f, err
	}
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503} {
		if status, _, err := get(s.adminPort, "10.1.2.3:9090", path, longEnough); err != nil || status != want {
			return f, errors.Join(fmt.Errorf("while the program opens the store, %s is %d, want %d: %w", path, status, want, err), s.stop())
		}
	}
	if s.wait() == nil {
		return f, errors.New("the program ends with 0 without a database")
	}
	f.gives = time.Since(begin)

	s, err = start(os.TempDir(), nil, []string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--store", "sqlite::memory:"}, true)
	if err != nil {
		return f, err
	}
	if err := s.stop(); err != nil {
		return f, err
	}
	drain := regexp.MustCompile(`"drain":"([^"]+)"`).FindStringSubmatch(s.stderr.String())
	if drain == nil {
		return f, fmt.Errorf("the log does not say how long the program drains: %s", &s.stderr)
	}
	if f.drain, err = time.ParseDuration(drain[1]); err != nil {
		return f, err
	}
	help, err := exec.Command(plantstore, "serve", "--help").CombinedOutput()
	f.help = string(help)
	return f, err
})
