package system_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

const webhookSecret = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"

// relay starts `plantstore webhook` from a service to a receiver. Its pauses are short.
func (w *receiver) relay(r *program.Server, state string, args ...string) *relayProcess {
	w.t.Helper()
	w.mu.Lock()
	w.last = map[int64]int{}
	w.mu.Unlock()
	return startRelay(w.t, r, w.url(), webhookSecret, append([]string{"--state", state}, args...)...)
}

// startRelay is relay for any receiver.
func startRelay(t testing.TB, r *program.Server, to, secrets string, args ...string) *relayProcess {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	must.NoError(t, os.WriteFile(file, []byte(secrets+"\n"), 0o600))
	p := &relayProcess{cmd: r.Command(t, append([]string{
		"webhook", "--to", to, "--secret-file", file, "--retry", "100ms",
	}, args...)...)}
	p.cmd.Stderr = &p.stderr
	must.NoError(t, p.cmd.Start())
	return p
}

type relayProcess struct {
	cmd    *exec.Cmd
	stderr strings.Builder // read it after end
}

// end sends the relay a signal and returns its exit status and its log.
func (p *relayProcess) end(signal syscall.Signal) (status int, log string) {
	_ = p.cmd.Process.Signal(signal)
	return p.wait()
}

func (p *relayProcess) wait() (status int, log string) {
	err := p.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		status = exit.ExitCode()
	}
	return status, p.stderr.String()
}

// The command ends with a status of its own, keeps its position, and writes what is rejected.
// Neither its log nor its errors have a secret.
func TestWebhook(t *testing.T) {
	t.Parallel()
	r := program.OneOf(t, filepath.Join(t.TempDir(), "plants.db"))
	w := newReceiver(t)
	dir := t.TempDir()
	state, rejects := filepath.Join(dir, "state"), filepath.Join(dir, "rejects")
	put := func(id int64) {
		r.Want(t, http.StatusCreated, http.MethodPut, fmt.Sprint("/plants/", id), `{"name":"1"}`)
	}
	has := func(id int64) func() bool { return func() bool { return w.has(id) } }
	ends := func(p *relayProcess, status int, message string) {
		t.Helper()
		got, log := p.wait()
		if got != status || !strings.Contains(log, message) {
			t.Errorf("the relay ends with %d: %s\nwant %d, %q", got, log, status, message)
		}
		for _, secret := range []string{"secret", program.Token, "c2Vj"} {
			if strings.Contains(strings.ReplaceAll(log, "--secret-file", ""), secret) {
				t.Errorf("the log has a secret: %s", log)
			}
		}
	}
	stop := func(p *relayProcess) {
		t.Helper()
		must.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		ends(p, 0, `"msg":"started"`)
	}

	put(1)
	ends(w.relay(r, state), 1, "add --from now or --from start to create it")
	p := w.relay(r, state, "--from", "now")
	wait.Until(t, "the position", func() bool { _, err := os.Stat(state); return err == nil })
	put(2)
	wait.Until(t, "a plant that is new", has(2))
	ends(w.relay(r, state), 1, "another plantstore webhook may use "+state)
	stop(p)
	if has(1)() {
		t.Error("a plant from before the start has arrived")
	}
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the position is %v, %v", info.Mode(), err)
	}

	put(3)
	w.fail(func(int64) fault { return fault{status: http.StatusGone} })
	ends(w.relay(r, state), 6, "410 Gone")
	w.fail(nil)
	p = w.relay(r, state, "--from", "now") // has no effect any more
	wait.Until(t, "what came meanwhile", has(3))
	stop(p)

	other := r.With(strings.Replace(r.URL, "127.0.0.1", "localhost", 1), r.Token)
	ends(w.relay(other, state), 1, "is not the file of this --server and --to")
	elsewhere := newReceiver(t)
	ends(elsewhere.relay(r, state), 1, "is not the file of this --server and --to")
	ends(w.relay(&program.Server{URL: r.URL, Token: "unknown"}, state), 4, "credentials not valid")

	w.fail(func(int64) fault { return fault{status: http.StatusForbidden} })
	const part = `{"webhook_id":"pl` // of a line, on a disk that was full
	must.NoError(t, os.WriteFile(rejects, []byte(part), 0o600))
	p = w.relay(r, filepath.Join(dir, "all"), "--from", "start", "--rejects", rejects)
	var text []byte
	wait.Until(t, "three rejected plants", func() bool {
		text, _ = os.ReadFile(rejects)
		return strings.Count(string(text), "\n") == 4
	})
	stop(p)
	text, whole := bytes.CutPrefix(text, []byte(part+"\n"))
	if !whole {
		t.Errorf("after a part of a line the file has %s", text)
	}
	var line struct {
		ID     string `json:"webhook_id"`
		Status int
		Event  struct {
			Type string
			Data client.Plant
		}
	}
	err := json.NewDecoder(strings.NewReader(string(text))).Decode(&line)
	if err != nil || line.Status != http.StatusForbidden || line.Event.Type != "plant.changed" || line.Event.Data.ID != 1 ||
		line.ID != "plant_1_"+string(line.Event.Data.ETag) {
		t.Errorf("the rejected plants are %s, %v", text, err)
	}

	w.fail(nil)
	text, err = os.ReadFile(state)
	must.NoError(t, err)
	gone := strings.Replace(string(text), `"position":"`, `"position":"AD7PTT2aDqEdAAAAAAAAACgAAAAAAAAAKgAAAAAAAAAAUFTG","was":"`, 1)
	must.NoError(t, os.WriteFile(state, []byte(gone), 0o600))
	ends(w.relay(r, state, "--on-gone", "stop"), 5, "the position is not valid any more")
	p = w.relay(r, state)
	wait.Until(t, "all plants", has(1))
	stop(p)
}

// --test sends a plant of the service, and shows the request and the response.
func TestWebhookTest(t *testing.T) {
	t.Parallel()
	r := program.OneOf(t, "sqlite::memory:")
	w := newReceiver(t)
	secret := filepath.Join(t.TempDir(), "secret")
	must.NoError(t, os.WriteFile(secret, []byte(webhookSecret), 0o600))
	try := func() (out string, err error) {
		text, err := r.Command(t, "webhook", "--to", w.url(), "--secret-file", secret, "--test").CombinedOutput()
		return strings.ReplaceAll(string(text), "\r\n", "\n"), err
	}
	if out, err := try(); err == nil || !strings.Contains(out, "plantstore: webhook: the service has no plants: ") {
		t.Errorf("without a plant: %v, %s", err, out)
	}
	r.Want(t, http.StatusCreated, http.MethodPut, "/plants/7", `{"name":"1"}`)
	w.fail(func(n int64) fault {
		if n == 1 {
			return fault{}
		}
		return fault{status: map[int64]int{2: http.StatusTeapot, 3: http.StatusGone}[n]}
	})
	const request = "POST /a-path-that-is-secret HTTP/1.1\n…\nWebhook-Id: plant_7_…\nWebhook-Signature: v1,…\nWebhook-Timestamp: …\n…\n\n" +
		`{"type":"plant.changed","timestamp":"…","data":{"id":7,"name":"1","etag":"…","created_at":"…","updated_at":"…"}}` + "\n\n"
	if out, err := try(); err != nil || !like(request+"HTTP/1.1 200 OK\n…", out) || !w.has(7) {
		t.Errorf("%v, %s", err, out)
	}
	if out, err := try(); err == nil || !like(request+"HTTP/1.1 418 I'm a teapot\n…\nplantstore: webhook: the receiver responded with 418 I'm a teapot\n", out) {
		t.Errorf("%v, %s", err, out)
	}
	out, err := try()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 6 || !strings.Contains(out, "410 Gone") {
		t.Errorf("%v, %s", err, out)
	}
}

// The receivers in the operator's manual are short. They print what changes, and refuse what is not signed with their secret.
func TestWebhookReceivers(t *testing.T) {
	python := os.Getenv("PLANTSTORE_TEST_PYTHON")
	if python == "" {
		t.Skip("needs Python: .ci/drill test-webhook")
	}
	t.Parallel()
	r := program.OneOf(t, "sqlite::memory:")
	dir := t.TempDir()
	section := readme(t, "cmd/plantstore/manual/webhooks.md")
	code := func(language string) string {
		_, code, _ := strings.Cut(section, "\n```"+language+"\n")
		code, _, _ = strings.Cut(code, "\n```\n")
		lines := strings.Count(regexp.MustCompile(`(?m)^\s*$\n|^(\timport|import|from|\t"|\t\w+ ").*\n`).ReplaceAllString(code+"\n", ""), "\n")
		if lines < 10 || lines > 20 {
			t.Errorf("the receiver in %s has %d lines, want at most 20 beside its imports:\n%s", language, lines, code)
		}
		file := filepath.Join(dir, "receiver."+language)
		must.NoError(t, os.WriteFile(file, []byte(code+"\n"), 0o600))
		return file
	}
	binary := filepath.Join(dir, "receiver")
	build := program.Command(t, "go", "build", "-o", binary, code("go"))
	build.Dir = "../.."
	program.Finish(t, build)
	const otherSecret = "whsec_YW5vdGhlciBzZWNyZXQsIGFub3RoZXIgc2VjcmV0"
	for language, args := range map[string][]string{"Go": {binary}, "Python": {python, code("python")}} {
		t.Run(language, func(t *testing.T) {
			free, err := net.Listen("tcp", "127.0.0.1:0")
			must.NoError(t, err)
			_, port, _ := net.SplitHostPort(free.Addr().String())
			must.NoError(t, free.Close())
			out, err := os.Create(filepath.Join(t.TempDir(), "out"))
			must.NoError(t, err)
			receiver := program.Command(t, args[0], args[1:]...)
			receiver.Env = append(os.Environ(), "SECRET="+webhookSecret, "PORT="+port)
			receiver.Stdout, receiver.Stderr = out, out
			must.NoError(t, receiver.Start())
			defer func() { _ = receiver.Process.Kill(); _ = receiver.Wait() }()
			printed := func() string {
				text, err := os.ReadFile(out.Name())
				must.NoError(t, err)
				return string(text)
			}

			to := "http://127.0.0.1:" + port + "/plants"
			wait.Until(t, "the receiver listens", func() bool {
				conn, err := net.Dial("tcp", "127.0.0.1:"+port)
				if err == nil {
					conn.Close()
				}
				return err == nil
			})
			r.Want(t, http.StatusCreated, http.MethodPut, "/plants/1", `{"name":"Ficus é"}`)
			status, log := startRelay(t, r, to, otherSecret, "--test").wait()
			if status != 1 || !strings.Contains(log, "401 Unauthorized") || strings.Contains(printed(), "plant.changed") {
				t.Errorf("with another secret the relay ends with %d: %s; the receiver prints %s", status, log, printed())
			}
			relay := startRelay(t, r, to, otherSecret+"\n"+webhookSecret, "--state", filepath.Join(t.TempDir(), "state"), "--from", "start")
			prints := func(want string) {
				t.Helper()
				wait.Until(t, want, func() bool { return like("…"+want+"…", printed()) })
			}
			prints(`{"type":"plant.changed","timestamp":"…","data":{"id":1,"name":"Ficus é","etag":"…","created_at":"…","updated_at":"…"}}`)
			r.Want(t, http.StatusNoContent, http.MethodDelete, "/plants/1", "")
			prints(`{"type":"plant.deleted","timestamp":"…","data":{"id":1}}`)
			if status, log := relay.end(syscall.SIGTERM); status != 0 {
				t.Errorf("the relay ends with %d: %s", status, log)
			}
		})
	}
}
