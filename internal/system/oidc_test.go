package system_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// identityProvider is a running internal/workshop/tools/oidc/provider.mjs.
type identityProvider struct {
	cmd *exec.Cmd
	url string

	mu      sync.Mutex
	fetches []time.Time // of keys
	lines   chan string // what it prints beside that
}

// startProvider starts an identity provider on a port.
func startProvider(t *testing.T, port int) *identityProvider {
	t.Helper()
	p := &identityProvider{url: fmt.Sprint("http://127.0.0.1:", port), lines: make(chan string, 100)}
	p.cmd = program.Command(t, "node", "../workshop/tools/oidc/provider.mjs", strconv.Itoa(port))
	pipe, err := p.cmd.StdoutPipe()
	must.NoError(t, err)
	must.NoError(t, p.cmd.Start())
	t.Cleanup(p.stop)
	go func() {
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			switch line := lines.Text(); {
			case line == "GET /jwks":
				p.mu.Lock()
				p.fetches = append(p.fetches, time.Now())
				p.mu.Unlock()
			case strings.HasPrefix(line, "listens") || line == "rotated":
				p.lines <- line
			}
		}
	}()
	wait.For(t, "the identity provider to listen", p.lines)
	return p
}

func (p *identityProvider) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// rotate makes the provider sign with a new key.
func (p *identityProvider) rotate(t *testing.T) {
	t.Helper()
	must.NoError(t, p.cmd.Process.Signal(syscall.SIGHUP))
	wait.For(t, "the identity provider to rotate its keys", p.lines)
}

// token gets a token with client credentials, and returns it with its key ID.
func (p *identityProvider) token(scope string) (text, keyID string, err error) {
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {scope}}
	req, err := http.NewRequest(http.MethodPost, p.url+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", "", err
	}
	req.SetBasicAuth("garden", "a-secret-of-the-garden")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	var body struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || body.Token == "" {
		return "", "", fmt.Errorf("%s from the token endpoint, %v", resp.Status, err)
	}
	parsed, err := jose.ParseSignedCompact(body.Token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil {
		return "", "", err
	}
	return body.Token, parsed.Signatures[0].Header.KeyID, nil
}

// TestIdentityProvider runs the program with tokens of a real identity provider, which
// starts late, rotates its keys twice under load, and stops.
func TestIdentityProvider(t *testing.T) {
	if os.Getenv("PLANTSTORE_TEST_OIDC") == "" {
		t.Skip("needs an identity provider: .ci/drill test-oidc")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	begun := time.Now()
	r := program.Serve(t, "sqlite::memory:", "--log-requests", "all",
		"--oidc-issuer", fmt.Sprint("http://127.0.0.1:", port), "--oidc-audience", "https://plants.example.com", "--oidc-require-at-jwt")
	t.Logf("figures: the program started in %v, without the provider", time.Since(begun))
	// send creates plant 1, or reads it, and returns the status.
	send := func(method, token string) (int, error) {
		path, body := "/plants/1", ""
		if method == http.MethodPost {
			path, body = "/plants", `{"id":1,"name":"Ficus lyrata"}`
		}
		resp, _, err := r.With(r.URL, token).Send(http.DefaultClient, method, path, body)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, nil
	}
	want := func(method, token string, status int) {
		t.Helper()
		if got, err := send(method, token); err != nil || got != status {
			t.Fatalf("%s got %d, %v, want %d", method, got, err, status)
		}
	}

	p := startProvider(t, port)
	both, first, err := p.token("read write")
	must.NoError(t, err)
	reader, _, err := p.token("read")
	must.NoError(t, err)
	want(http.MethodPost, both, http.StatusOK)
	want(http.MethodGet, reader, http.StatusOK)
	want(http.MethodPost, reader, http.StatusForbidden)

	// Clients get new tokens and use each of them, until they have used three keys.
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	var sent, slowest atomic.Int64
	var clients sync.WaitGroup
	keys, rotations := sync.Map{}, make(chan struct{}, 100)
	keys.Store(first, true) // clients may begin after the first rotation
	for range 4 {
		clients.Go(func() {
			for used := map[string]bool{first: true}; len(used) < 3 && ctx.Err() == nil; {
				text, key, err := p.token("read write")
				if err != nil {
					t.Error(err)
					return
				}
				began := time.Now()
				for _, method := range []string{http.MethodPost, http.MethodGet} {
					if got, err := send(method, text); err != nil || got != http.StatusOK {
						t.Errorf("%s with the key %s got %d, %v", method, key, got, err)
						return
					}
					sent.Add(1)
				}
				slowest.Store(max(slowest.Load(), int64(time.Since(began))))
				used[key] = true
				if _, known := keys.LoadOrStore(key, true); !known {
					rotations <- struct{}{}
				}
			}
			if ctx.Err() != nil {
				t.Errorf("waited %v for tokens of three keys", wait.Limit)
			}
		})
	}
	p.rotate(t) // one right after the first fetch, one right after the fetch of that key
	wait.For(t, "a token of the second key", rotations)
	p.rotate(t)
	clients.Wait()
	t.Logf("figures: %d requests with new tokens during two rotations, the slowest took %v", sent.Load(), time.Duration(slowest.Load()))

	p.mu.Lock()
	for i, at := range p.fetches {
		t.Logf("figures: keys fetched after %v", at.Sub(p.fetches[0]).Round(time.Millisecond))
		if i > 0 && at.Sub(p.fetches[i-1]) < 9900*time.Millisecond { // this process reads the line a little later
			t.Errorf("two fetches of keys were %v apart", at.Sub(p.fetches[i-1]))
		}
	}
	p.mu.Unlock()

	// Without the provider, tokens of known keys go on.
	unused, _, err := p.token("read write")
	must.NoError(t, err)
	p.stop()
	want(http.MethodPost, both, http.StatusOK)
	want(http.MethodPost, unused, http.StatusOK)
	r.End(t, syscall.SIGTERM)
	if log := r.Stderr.String(); !strings.Contains(log, `"token":"garden"`) || !strings.Contains(log, "fetched the keys of the identity provider") || strings.Contains(log, both) {
		t.Errorf("the log is\n%.3000s", log)
	}
}
