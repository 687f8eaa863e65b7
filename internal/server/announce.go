package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/shell"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/token"
)

// announce prints the address of the service. With a token it also prints the
// token, a link to the page for people if there is one, a curl command that creates a
// plant, or lists plants if the service is read-only, and the URL of the API reference.
// Without TLS the certificate is nil.
func announce(stdout io.Writer, addr net.Addr, cert *certificate, token string, api httpapi.Options) {
	scheme := "http"
	if cert != nil {
		scheme = "https"
	}
	url := scheme + "://" + addr.String()
	fmt.Fprintln(stdout, "plantstore listens on", url)
	if token == "" {
		return
	}
	target := url + "/plants"
	if cert != nil {
		target = curlTarget(addr, cert)
	}
	what := "Create a plant"
	options := ` -H 'Content-Type: application/json' -d '{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}'`
	if api.ReadOnly {
		what, options = "List plants", ""
	}
	page := ""
	if api.Page {
		page = fmt.Sprintf("\nSee the plants in a browser: %s/#token=%s\n", url, token)
	}
	fmt.Fprintf(stdout, `%s
token, valid for 24 hours or until the service stops: %s

%s:

curl -i %s -H 'Authorization: Bearer %s'%s

Read about the API and try it in a browser: %s/docs

`, page, token, what, target, token, options, url)
}

// curlTarget returns the URL and the options with which curl on this machine
// reaches the service and accepts its certificate, also a self-signed one.
func curlTarget(addr net.Addr, cert *certificate) string {
	leaf, options := cert.current.Leaf, " --cacert "+shell.Quote(cert.certFile)
	host, port, _ := net.SplitHostPort(addr.String()) // it is one
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	if leaf.VerifyHostname(host) != nil && len(leaf.DNSNames) > 0 {
		at := net.JoinHostPort(host, port)
		host = strings.Replace(leaf.DNSNames[0], "*", "plants", 1)
		options = fmt.Sprintf(" --connect-to %s:%s:%s", host, port, at) + options
	}
	return "https://" + net.JoinHostPort(host, port) + "/plants" + options
}

// adviseTokens warns of a static token that is one of a store. If clients cannot have a valid
// token yet, it logs the command that creates one.
func (s *service) adviseTokens(ctx context.Context) error {
	if token.IsIssued(s.config.Token) {
		s.log.Warn("PLANTSTORE_TOKEN has a token of a store: here it has every scope and cannot be revoked; " +
			"unset it, or choose another text")
	}
	hasToken := s.config.Token != "" || s.printed != ""
	if hasToken || s.issuer != nil {
		return nil
	}
	tokens, err := s.store.Tokens(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	if slices.ContainsFunc(tokens, func(t token.Token) bool { return t.InForce(now) }) {
		return nil
	}
	command := "plantstore token create --name first"
	switch store := s.config.Store; {
	case open.InMemory(store): // no other program can reach it
		command = "plantstore serve --print-token --store " + store
	case store != open.Default && open.Redacted(store) == store: // a URL with a password comes from PLANTSTORE_STORE
		command += " --store " + shell.Quote(store)
	}
	s.log.Warn("there is no valid token: every request gets 401 until you create one", "run", command)
	return nil
}

// notify sends a state to the service manager: systemd with Type=notify, see
// sd_notify(3). The path is the value of NOTIFY_SOCKET; if it is empty, notify
// does nothing. A leading @ means an abstract socket, as in package net.
func notify(path, state string) error {
	if path == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Net: "unixgram", Name: path})
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // a manager that does not read must not delay the shutdown
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return nil
}
