package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/server"
	"github.com/plantstore/plantstore/internal/transfer"
	"github.com/plantstore/plantstore/internal/webhook"
)

// leastPause is the least pause before another attempt, and the least time for one: a receiver that is down gets at
// most ten requests a second for each of --concurrency.
const leastPause = 100 * time.Millisecond

// mostResponse is how much is read of the header of a response, and of a body that is shown: by default each of
// --concurrency could take 10 MiB several times.
const mostResponse = 64 << 10

func webhookCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "webhook",
		Usage: "send what changes in a running service to a URL",
		Description: `Sends each plant that changes as a POST, signed as Standard Webhooks say, at least once and those
about a plant in the order of its changes, until SIGTERM or Ctrl-C. The token in PLANTSTORE_TOKEN or
--token-file needs the scope read.

The exit status is 0 after a signal, 3 if the service is not available, 4 if it does not accept the
token, 5 if the position is not valid any more (with --on-gone stop), 6 if the receiver responds with
410, and 1 for any other failure.

   echo "whsec_$(openssl rand -base64 32)" >secret
   plantstore webhook --to https://example.com/plants --secret-file secret --from now`,
		Flags: append([]cli.Flag{
			textFlag("to", "", "send the changes to `URL`; the list of processes shows it, unless it is in the variable"),
			textFlag("secret-file", "", "sign with each secret in `FILE`, one a line: whsec_ and base64 of 24 to 64 bytes"),
			textFlag("state", "webhook.json", "keep the position in `FILE`, to continue there after a restart"),
			choiceFlag("from", "", "without a position, begin at `WHERE`: start (all plants) or now (what changes from now on)"),
			choiceFlag("on-gone", onGoneRestart, "if the position is not valid any more, do `THIS`: restart (all plants) or stop"),
			textFlag("rejects", "", "after all of --retry, append a change that is refused with a 4xx to `FILE` and go on"),
			textFlag("retry", "5s,5m,30m,2h,5h,10h,14h,20h,24h", "try again after these `PAUSES`; the last one is repeated"),
			durationFlag("timeout", leastPause, 15*time.Second, "let an attempt fail after `TIME` without a response"),
			intFlag("concurrency", 1, "send `N` changes at the same time, of different plants; at most 100"),
			boolFlag("insecure", "send to an http:// URL of another machine: others can read what is sent"),
			adminFlag("serve /livez, /metrics and /debug/pprof/ on `HOST:PORT`, or off; use a private address"),
			&cli.BoolFlag{Name: "test", Usage: "send one plant of the service, show the request and the response, and end"},
		}, serverFlags()...),
		Action: func(ctx context.Context, command *cli.Command) error {
			relay, err := newRelay(sys, command)
			if err != nil {
				return err
			}
			if command.Bool("test") {
				return withStatus(ctx, "webhook", "", testWebhook(ctx, sys, relay))
			}
			return withStatus(ctx, "webhook", "", runWebhook(ctx, sys, command, relay))
		},
	}
}

// newRelay returns the relay that the flags describe, without the files that it writes.
func newRelay(sys system, command *cli.Command) (*webhook.Relay, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = command.Int("concurrency")
	transport.MaxResponseHeaderBytes = mostResponse
	relay := &webhook.Relay{
		URL:         command.String("to"),
		Timeout:     command.Duration("timeout"),
		Concurrency: command.Int("concurrency"),
		HTTP:        transport,
		Restart:     command.String("on-gone") == onGoneRestart,
		Log:         newLog(sys.stderr),
	}
	if err := webhook.CheckURL(relay.URL, command.Bool("insecure")); err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	for text := range strings.SplitSeq(command.String("retry"), ",") {
		pause, err := parseSpan(text)
		if err != nil || pause < leastPause {
			return nil, fmt.Errorf("--retry: must be durations of at least %v with commas between them, as in 5s,5m,1h", leastPause)
		}
		relay.Retry = append(relay.Retry, pause)
	}
	switch {
	case relay.Concurrency > 100:
		return nil, errors.New("--concurrency: must be at most 100")
	case command.String("rejects") == command.String("state"):
		return nil, errors.New("--rejects: must be another file than --state")
	}
	var err error
	if relay.Secrets, err = readSecrets(command.String("secret-file")); err != nil {
		return nil, fmt.Errorf("--secret-file: %w", err)
	}
	relay.Service, err = dial(sys, command)
	return relay, err
}

func readSecrets(file string) ([][]byte, error) {
	if file == "" {
		return nil, errors.New("must be a file with a secret, as echo \"whsec_$(openssl rand -base64 32)\" writes it")
	}
	text, err := readSmall(file)
	if err != nil {
		return nil, err
	}
	return webhook.ParseSecrets(string(text))
}

// onGoneRestart is the value of --on-gone that begins again.
const onGoneRestart = "restart"

// testWebhook sends the first plant of the service: an example could end up in the data of the receiver.
func testWebhook(ctx context.Context, sys system, relay *webhook.Relay) error {
	relay.HTTP = shown{relay.HTTP, sys}
	for change, err := range relay.Service.Changes(ctx, "", false) {
		if err == nil {
			_, _, err = relay.Send(ctx, webhook.NewEvent(change, time.Now()))
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

func (s shown) RoundTrip(request *http.Request) (*http.Response, error) {
	show := func(text []byte, _ error) { fmt.Fprintf(s.stdout, "%s\n\n", bytes.TrimSpace(text)) }
	show(httputil.DumpRequestOut(request, true))
	response, err := s.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, mostResponse)
		show(httputil.DumpResponse(response, true))
	}
	return response, err
}

// runWebhook runs a relay with the files and the admin listener of the flags.
func runWebhook(ctx context.Context, sys system, command *cli.Command, relay *webhook.Relay) error {
	state, err := webhook.OpenState(command.String("state"), command.String("server"), relay.URL)
	if err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	defer state.Close()
	position, err := firstPosition(ctx, command, relay.Service, state)
	if err != nil {
		return err
	}
	if err := state.Save(position); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	relay.Save = state.Save
	if name := command.String("rejects"); name != "" {
		rejects, err := webhook.OpenRejects(name)
		if err != nil {
			return fmt.Errorf("--rejects: %w", err)
		}
		defer rejects.Close()
		relay.Reject = rejects.Append
	}
	stop, err := server.StartAdmin(sys.stdout, relay.Log, adminAddr(command), relay)
	if err != nil {
		return err
	}
	defer stop()
	relay.Log.Info("started", "server", command.String("server"), "state", command.String("state"))
	return relay.Run(ctx, position)
}

// firstPosition returns the position in the file of --state, or if there is none, the one that --from says.
func firstPosition(
	ctx context.Context, command *cli.Command, service *transfer.Service, state *webhook.State,
) (client.Position, error) {
	position, err := state.Load()
	if err == nil {
		return position, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("--state: %w", err)
	}
	switch command.String("from") {
	case "now":
		return service.Now(ctx)
	case "start":
		return "", nil
	}
	return "", fmt.Errorf("--state: %w: add --from now or --from start to create it", err)
}
