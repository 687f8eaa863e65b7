package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/atomicfile"
	"github.com/plantstore/plantstore/internal/server"
	"github.com/plantstore/plantstore/internal/webhook"
)

func webhookCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "webhook",
		Usage: "send what changes in a running service to a URL",
		Description: "Sends each plant that changes as a POST, signed as Standard Webhooks say, at least once and those\n" +
			"about a plant in the order of its changes, until SIGTERM or Ctrl-C. The token in PLANTSTORE_TOKEN or\n" +
			"--token-file needs the scope read.\n\n" +
			"The exit status is 0 after a signal, 3 if the service is not available, 4 if it does not accept the\n" +
			"token, 5 if the position is not valid any more (with --on-gone stop), 6 if the receiver responds with\n" +
			"410, and 1 for any other failure.\n\n" +
			"   echo \"whsec_$(openssl rand -base64 32)\" >secret\n" +
			"   plantstore webhook --to https://example.com/plants --secret-file secret --from now",
		Flags: append([]cli.Flag{
			textFlag("to", "", "send the changes to `URL`; the list of processes shows it, unless it is in the variable"),
			textFlag("secret-file", "", "sign with each secret in `FILE`, one a line: whsec_ and base64 of 24 to 64 bytes"),
			textFlag("state", "webhook.json", "keep the position in `FILE`, to continue there after a restart"),
			choiceFlag("from", "", "without a position, begin at `WHERE`: start (all plants) or now (what changes from now on)"),
			choiceFlag("on-gone", onGoneRestart, "if the position is not valid any more, do `THIS`: restart (all plants) or stop"),
			textFlag("rejects", "", "after all of --retry, append a change that is refused with a 4xx to `FILE` and go on"),
			textFlag("retry", "5s,5m,30m,2h,5h,10h,14h,20h,24h", "try again after these `PAUSES`; the last one is repeated"),
			durationFlag("timeout", 15*time.Second, "let an attempt fail after `TIME` without a response"),
			intFlag("concurrency", 1, "send `N` changes at the same time, of different plants; at most 100"),
			boolFlag("insecure", "send to an http:// URL of another machine: others can read what is sent"),
			adminFlag("serve /livez, /metrics and /debug/pprof/ on `HOST:PORT`, or off; use a private address"),
			&cli.BoolFlag{Name: "test", Usage: "send one plant of the service, show the request and the response, and end"},
		}, serverFlags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			transport := http.DefaultTransport.(*http.Transport).Clone()
			transport.MaxIdleConnsPerHost = cmd.Int("concurrency")
			r := webhook.Relay{
				URL: cmd.String("to"), Timeout: cmd.Duration("timeout"), Concurrency: cmd.Int("concurrency"),
				HTTP: transport, Restart: cmd.String("on-gone") == onGoneRestart, Log: newLog(sys.stderr),
			}
			if err := webhook.CheckURL(r.URL, cmd.Bool("insecure")); err != nil {
				return fmt.Errorf("--to: %w", err)
			}
			for text := range strings.SplitSeq(cmd.String("retry"), ",") {
				pause, err := parseSpan(text)
				if err != nil || pause == 0 {
					return errors.New("--retry: must be durations with commas between them, as in 5s,5m,1h")
				}
				r.Retry = append(r.Retry, pause)
			}
			switch {
			case r.Timeout == 0:
				return errors.New("--timeout: must be more than 0")
			case r.Concurrency > 100:
				return errors.New("--concurrency: must be at most 100")
			case cmd.String("rejects") == cmd.String("state"):
				return errors.New("--rejects: must be another file than --state")
			}
			secrets, err := readSmall(cmd.String("secret-file"))
			if cmd.String("secret-file") == "" {
				err = errors.New("must be a file with a secret, as echo \"whsec_$(openssl rand -base64 32)\" writes it")
			} else if err == nil {
				r.Secrets, err = webhook.ParseSecrets(string(secrets))
			}
			if err != nil {
				return fmt.Errorf("--secret-file: %w", err)
			}
			if r.Service, err = dial(sys, cmd); err != nil {
				return err
			}
			if cmd.Bool("test") {
				return withStatus(ctx, "webhook", "", testWebhook(ctx, sys, &r))
			}
			return withStatus(ctx, "webhook", "", runWebhook(ctx, sys, cmd, &r))
		},
	}
}

// onGoneRestart is the value of --on-gone that begins again.
const onGoneRestart = "restart"

// testWebhook sends the first plant of the service: an example could end up in the data of the receiver.
func testWebhook(ctx context.Context, sys system, r *webhook.Relay) error {
	r.HTTP = shown{r.HTTP, sys}
	for c, err := range r.Service.Changes(ctx, "", false) {
		if err == nil {
			_, _, err = r.Send(ctx, webhook.NewEvent(c, time.Now()))
		}
		return err
	}
	return errors.New("the service has no plants: create one to send it")
}

// shown writes requests and responses to stdout.
type shown struct {
	http.RoundTripper
	system
}

func (s shown) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	show := func(text []byte, _ error) { fmt.Fprintf(s.stdout, "%s\n\n", bytes.TrimSpace(text)) }
	show(httputil.DumpRequestOut(r, true))
	if resp, err = s.RoundTripper.RoundTrip(r); err == nil {
		show(httputil.DumpResponse(resp, true))
	}
	return resp, err
}

// webhookState is the content of the file of --state.
type webhookState struct {
	Server   string          `json:"server"`
	To       string          `json:"to"`
	Position client.Position `json:"position"`
}

// runWebhook runs a relay with the files and the admin listener of the flags.
func runWebhook(ctx context.Context, sys system, cmd *cli.Command, r *webhook.Relay) error {
	name := cmd.String("state")
	// SQLite locks a file on every system, until the process ends. This is another file than that of the position,
	// which is replaced.
	lock, err := sqlite.OpenConn(name+".lock", sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err == nil {
		defer lock.Close()
		lock.SetBusyTimeout(time.Second)
		err = sqlitex.ExecuteTransient(lock, "BEGIN EXCLUSIVE", nil)
	}
	if err != nil {
		return fmt.Errorf("--state: another plantstore webhook may use %s, or its folder is not writable: %w", name, err)
	}
	state := webhookState{Server: cmd.String("server"), To: r.URL}
	var stored webhookState
	switch text, err := readSmall(name); {
	case errors.Is(err, fs.ErrNotExist) && cmd.String("from") == "now":
		if state.Position, err = r.Service.Now(ctx); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrNotExist) && cmd.String("from") == "start":
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--state: %w: add --from now or --from start to create it", err)
	case err != nil:
		return fmt.Errorf("--state: %w", err)
	case json.Unmarshal(text, &stored) != nil || stored.Server != state.Server || stored.To != state.To:
		return fmt.Errorf("--state: %s is not the file of this --server and --to: name another file", name)
	default:
		state = stored
	}
	r.Save = func(p client.Position) error {
		next := webhookState{state.Server, state.To, p}
		if next == stored {
			return nil
		}
		text, err := json.Marshal(next)
		if err = errors.Join(err, atomicfile.Write(name, text, 0o600)); err == nil {
			stored = next
		}
		return err
	}
	if err := r.Save(state.Position); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	if rejects := cmd.String("rejects"); rejects != "" {
		file, err := os.OpenFile(rejects, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return fmt.Errorf("--rejects: %w", err)
		}
		defer file.Close()
		r.Reject = func(e webhook.Event, status int) error {
			err := appendLine(file, fmt.Sprintf(`{"webhook_id":%q,"status":%d,"event":%s}`+"\n", e.ID, status, e.Body))
			return errors.Join(err, file.Sync(), atomicfile.SyncFolder(rejects)) // before the position moves on
		}
	}
	stop, err := server.StartAdmin(sys.stdout, r.Log, adminAddr(cmd), r)
	if err != nil {
		return err
	}
	defer stop()
	r.Log.Info("started", "server", state.Server, "state", name)
	return r.Run(ctx, state.Position)
}

// appendLine writes a line at the end of a file. A part of one that a full disk left there stays on a line of its own.
func appendLine(file *os.File, line string) error {
	size, err := file.Seek(0, io.SeekEnd)
	last := []byte("\n")
	_, _ = file.ReadAt(last, size-1) // an empty file has none
	if err == nil {
		_, err = file.WriteString(strings.TrimPrefix("\n", string(last)) + line)
	}
	return err
}
