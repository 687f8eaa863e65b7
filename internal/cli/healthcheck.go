package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
)

// healthTime is how long a healthy service may take to say so.
const healthTime = 3 * time.Second

func healthcheckCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "healthcheck",
		Usage: "ask the service on this machine how it is",
		Description: "For containers, which may have no shell and no curl. The exit status is 0 if the service is well,\n" +
			"and 1 with the reason otherwise. It reads the settings that serve reads: with an admin listener\n" +
			"it asks there whether the service is ready, and otherwise whether it answers at all.\n\n" +
			"   HEALTHCHECK CMD [\"/plantstore\", \"healthcheck\"]",
		Flags: []cli.Flag{
			addrFlag("ask the service at `HOST:PORT`, if it has no admin listener"),
			adminFlag("ask the admin listener at `HOST:PORT`; off if there is none"),
			&cli.StringFlag{
				Name:    "tls-cert",
				Usage:   "speak TLS to --addr, whatever certificate it has, because serve has one in `FILE`",
				Sources: cli.EnvVars("PLANTSTORE_TLS_CERT"),
			},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return errors.New("healthcheck takes no argument")
			}
			ctx, cancel := context.WithTimeout(ctx, healthTime)
			defer cancel()
			said := "answers"
			var err error
			if admin := adminAddr(cmd); admin != "" {
				said, err = askReady(ctx, admin)
			} else {
				err = askAnything(ctx, cmd.String("addr"), cmd.String("tls-cert") != "")
			}
			if err != nil {
				return fmt.Errorf("healthcheck: %w", err)
			}
			_, err = fmt.Fprintln(sys.stdout, said)
			return err
		},
	}
}

// askReady asks the admin listener for readiness, and returns what it says.
func askReady(ctx context.Context, addr string) (string, error) {
	resp, err := ask(ctx, http.MethodGet, "http", addr, "/readyz")
	if err != nil {
		return "", fmt.Errorf("the admin listener: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	said := strings.TrimSpace(string(body))
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("not ready: %s: %s", resp.Status, said)
	}
	return said, err
}

// askAnything asks the public listener for what needs no token.
func askAnything(ctx context.Context, addr string, withTLS bool) error {
	scheme := "http"
	if withTLS {
		scheme = "https"
	}
	resp, err := ask(ctx, http.MethodOptions, scheme, addr, "/plants")
	if err != nil {
		return err
	}
	resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNoContent, http.StatusServiceUnavailable: // who is busy is not ill
	default:
		return fmt.Errorf("%s answers %s: is it this service?", addr, resp.Status)
	}
	return nil
}

// ask sends a request to where a listener of this machine was told to listen,
// which may be every address that it has.
func ask(ctx context.Context, method, scheme, addr, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, scheme+"://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
		// The certificate is for the name by which others know the service. Who
		// could stand in for it on this machine could stop it as well, and
		// nothing is sent that would be secret.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}
	resp, err := transport.RoundTrip(req)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("no answer from %s within %v", addr, healthTime)
	}
	return resp, err
}
