package server

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/token"
)

// announce prints where the service listens and, if there is a token to print, the
// token with a line that creates a plant, and where to read more. The certificate
// is nil without TLS.
func announce(stdout io.Writer, addr net.Addr, cert *certificate, token string) {
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
	fmt.Fprintf(stdout, `
token, valid for 24 hours or until the service stops: %s

Create a plant:

curl -i %s -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}'

Or read about it and try it in a browser: %s/docs

`, token, target, token, url)
}

// curlTarget is the URL by which curl on this machine finds the service and
// takes its certificate, with the options that this needs.
func curlTarget(addr net.Addr, cert *certificate) string {
	leaf, options := cert.current.Leaf, ""
	host, port, _ := net.SplitHostPort(addr.String()) // it is one
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	if leaf.VerifyHostname(host) != nil && len(leaf.DNSNames) > 0 {
		at := net.JoinHostPort(host, port)
		host = strings.Replace(leaf.DNSNames[0], "*", "plants", 1)
		options = fmt.Sprintf(" --connect-to %s:%s:%s", host, port, at)
	}
	chain := x509.NewCertPool()
	for _, der := range cert.current.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			chain.AddCert(c)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Intermediates: chain}); err != nil { // signed by itself, or within the house
		options += " --cacert " + shellQuote(cert.certFile)
	}
	return "https://" + net.JoinHostPort(host, port) + "/plants" + options
}

// adviseToken warns a server with which nobody can do anything yet, and says
// what to type.
func adviseToken(ctx context.Context, log *slog.Logger, tokens token.Store, store string) error {
	all, err := tokens.Tokens(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	if slices.ContainsFunc(all, func(t token.Token) bool { return t.InForce(now) }) {
		return nil
	}
	command := "plantstore token create --name first"
	switch {
	case open.InMemory(store): // no other program can reach it
		command = "plantstore serve --print-token --store " + store
	case store != open.Default && open.Redacted(store) == store: // one with a password is in PLANTSTORE_STORE
		command += " --store " + shellQuote(store)
	}
	log.Warn("no token is in force: every request is answered 401 until you make one", "run", command)
	return nil
}

// shellQuote writes a word so that a shell takes it as it is.
func shellQuote(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:", r)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
