package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificate is the certificate in the files of --tls-cert and --tls-key. The
// files are read again when one of them has changed, so that a renewal needs no
// restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	read    string // the stamp of the files before they were read
}

// openCertificate reads the certificate. It returns nil if neither file is
// named.
func openCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	switch {
	case certFile == "" && keyFile == "":
		return nil, nil
	case certFile == "":
		return nil, errors.New("--tls-key needs a certificate: add --tls-cert FILE, or leave both out")
	case keyFile == "":
		return nil, errors.New("--tls-cert needs its key: add --tls-key FILE, or leave both out")
	}
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	c.read = c.stamp()
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// get returns the certificate for a handshake. Looking for changed files takes
// a hundredth of the time of a handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stamp := c.stamp(); stamp != "" && stamp != c.read {
		c.read = stamp
		// Perhaps only one of the two files has been written so far.
		if err := c.load(); err != nil {
			c.log.Warn("changed certificate cannot be used, keeping the old one", "err", err)
		} else {
			c.log.Info("certificate renewed", "expires", c.current.Leaf.NotAfter)
		}
	}
	return c.current, nil
}

// metrics returns the expiry of the certificate as a metric.
func (c *certificate) metrics() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "plantstore_tls_certificate_expiry_timestamp_seconds",
		Help: "End of the validity of the TLS certificate in seconds since 1970.",
	}, func() float64 {
		current, _ := c.get(nil) // it never fails
		return float64(current.Leaf.NotAfter.Unix())
	})
}

// stamp identifies the contents of the files. It is empty while one is missing, because
// it is being replaced.
func (c *certificate) stamp() (stamp string) {
	for _, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return ""
		}
		stamp += fmt.Sprintln(info.ModTime().UnixNano(), info.Size())
	}
	return stamp
}

// load reads the files. On an error it keeps the current certificate.
func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("--tls-cert %s with --tls-key %s: %w: give a certificate and its private key, "+
			"both in PEM, the key without a passphrase, in files that this user may read", c.certFile, c.keyFile, err)
	}
	if time.Now().After(pair.Leaf.NotAfter) {
		c.log.Warn("certificate has expired: clients refuse it until you renew it; no restart is needed",
			"file", c.certFile, "expired", pair.Leaf.NotAfter)
	}
	c.current = &pair
	return nil
}
