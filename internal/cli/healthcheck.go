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

// healthTime is how long a healthy service may take to respond.
const healthTime = 3 * time.Second

func healthcheckCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "healthcheck",
		Usage: "check whether the service on this machine is healthy",
		Description: `For containers without a shell or curl. The exit status is 0 if the service is healthy; otherwise it
is 1, and stderr has the reason. The settings are those of serve: with an admin listener it checks
that the service is ready, and with --writes that writes work, too; otherwise that it responds.

   HEALTHCHECK CMD ["/plantstore", "healthcheck"]`,
		Flags: []cli.Flag{
			addrFlag("check the service at `HOST:PORT`, if it has no admin listener"),
			adminFlag("check the admin listener at `HOST:PORT`, or off if there is none"),
			&cli.BoolFlag{Name: "writes", Usage: "check that writes work, too; needs an admin listener"},
			textFlag("tls-cert", "", "use TLS for --addr if serve has a certificate in `FILE`; any certificate is "+
				"accepted"),
		},
		Action: func(ctx context.Context, command *cli.Command) error {
			ctx, cancel := context.WithTimeout(ctx, healthTime)
			defer cancel()
			said := "responding"
			var err error
			switch admin := adminAddr(command); {
			case admin != "" && command.Bool("writes"):
				said, err = getHealth(ctx, admin, "/writez", "writable")
			case admin != "":
				said, err = getHealth(ctx, admin, "/readyz", "ready")
			case command.Bool("writes"):
				err = errors.New("--writes needs the admin listener: add --admin-addr HOST:PORT, as serve has it")
			default:
				err = checkResponds(ctx, command.String("addr"), command.String("tls-cert") != "")
			}
			if err != nil {
				return fmt.Errorf("healthcheck: %w", err)
			}
			_, err = fmt.Fprintln(sys.stdout, said)
			return err
		},
	}
}

// getHealth requests a path from the admin listener and returns its text, which is good if
// the service is healthy.
func getHealth(ctx context.Context, addr, path, good string) (string, error) {
	resp, err := send(ctx, http.MethodGet, "http", addr, path)
	if err != nil {
		return "", fmt.Errorf("the admin listener: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	said := strings.TrimSpace(string(body))
	switch {
	case resp.StatusCode == http.StatusServiceUnavailable:
		return "", fmt.Errorf("%s responded with %s: %s", path, resp.Status, said)
	case err == nil && said != good:
		return "", notOurs(addr, resp, "check --admin-addr")
	}
	return said, err
}

// checkResponds sends a request that needs no token to the public listener.
func checkResponds(ctx context.Context, addr string, withTLS bool) error {
	scheme, advice := "http", "add --tls-cert FILE if serve has it, or check --addr"
	if withTLS {
		scheme, advice = "https", "check --addr"
	}
	resp, err := send(ctx, http.MethodOptions, scheme, addr, "/plants")
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		return fmt.Errorf("%s does not use TLS: leave out --tls-cert, or check --addr", addr)
	}
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.Header.Get("X-Request-Id") == "" { // every response of the service has one, also if it is busy
		return notOurs(addr, resp, advice)
	}
	return nil
}

// notOurs returns the error for a response of another program.
func notOurs(addr string, resp *http.Response, advice string) error {
	return fmt.Errorf("%s responded with %s, which is not a response of plantstore: %s", addr, resp.Status, advice)
}

// send sends a request to the address that a listener of this machine has,
// which may be 0.0.0.0.
func send(ctx context.Context, method, scheme, addr, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, scheme+"://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
		// The certificate is for the public name of the service, so it cannot be
		// verified here. Nothing secret is sent, and a program that could
		// impersonate the service on this machine could also stop it.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}
	resp, err := transport.RoundTrip(req)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("no response from %s within %v", addr, healthTime)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: check the address and that the service is running", err)
	}
	return resp, nil
}
