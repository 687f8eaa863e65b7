// Package kubernetes tests the manifests and the alert rules beside the program
// against the Kubernetes API, the language of Prometheus, and the program itself.
package kubernetes

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

const root = "../../../../"

// TestMain builds the program and puts it on the path, where the tests find it.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "plantstore-kubernetes.")
	if err == nil {
		err = program.Build(root, "./cmd/plantstore", folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	status := m.Run()
	os.RemoveAll(folder)
	os.Exit(status)
}

// container returns a command of plantstore in a folder, with the environment of a container.
func container(folder string, env, args []string) *exec.Cmd {
	cmd := exec.Command("plantstore", args...)
	cmd.Dir, cmd.Env = folder, env
	return cmd
}

// get requests a path of a listener with a Host header, as a probe or Prometheus does.
func get(listener, host, path string, timeout time.Duration) (status int, body string, err error) {
	address, err := url.Parse(listener)
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:"+address.Port()+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Host = host
	client := &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return program.ReadAll(client.Do(req))
}

// scraper is the Host header of Prometheus.
const scraper = "10.1.2.3:9090"

// postgres returns the URL of the database for tests.
func postgres(t *testing.T) string {
	t.Helper()
	url := os.Getenv("PLANTSTORE_TEST_POSTGRES")
	if url == "" {
		t.Skip("needs PostgreSQL in PLANTSTORE_TEST_POSTGRES: make kubernetes provides it")
	}
	return url
}

// read returns a file beside the program.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + "cmd/plantstore/" + name)
	must.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
