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

// certificate is what --tls-cert and --tls-key name. The files are read again
// once one of them has changed, so that a renewal needs no restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	read    [2]os.FileInfo // of the files, before they were read
}

// openCertificate reads the certificate, or says what is wrong with it. It is
// nil if neither file is named.
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
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// config makes a server speak TLS 1.2 or later, and offer HTTP/2.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: c.get,
	}
}

// get returns the certificate for a handshake. To ask the file system costs a
// hundredth of a handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed() {
		// The one file may have been written, and the other not yet.
		if err := c.load(); err != nil {
			c.log.Warn("the certificate has changed and cannot be used; the old one goes on", "err", err)
		} else {
			c.log.Info("the certificate has been renewed", "expires", c.current.Leaf.NotAfter)
		}
	}
	return c.current, nil
}

// metrics tells when the certificate of the next connection expires.
func (c *certificate) metrics() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "plantstore_tls_certificate_expiry_timestamp_seconds",
		Help: "End of the validity of the TLS certificate in seconds since 1970.",
	}, func() float64 {
		current, _ := c.get(nil) // it never fails
		return float64(current.Leaf.NotAfter.Unix())
	})
}

// changed reports whether the files are not those that were read last. One that
// is missing is about to come back.
func (c *certificate) changed() bool {
	changed := false
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return false
		}
		read := c.read[i]
		changed = changed || !os.SameFile(read, info) || !read.ModTime().Equal(info.ModTime()) || read.Size() != info.Size()
	}
	return changed
}

// load reads the files, and keeps what there was if they are of no use.
func (c *certificate) load() error {
	var texts [2][]byte
	for i, file := range []struct{ flag, name string }{{"--tls-cert", c.certFile}, {"--tls-key", c.keyFile}} {
		info, err := os.Stat(file.name)
		if err == nil {
			texts[i], err = os.ReadFile(file.name)
		}
		if err != nil {
			return fmt.Errorf("%s: %w: name a file in PEM that this user may read", file.flag, err)
		}
		c.read[i] = info
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return fmt.Errorf("--tls-cert %s with --tls-key %s: %w: give a certificate and the key that belongs to it, both in PEM, the key without a passphrase",
			c.certFile, c.keyFile, err)
	}
	if time.Now().After(pair.Leaf.NotAfter) {
		c.log.Warn("the certificate has expired, and clients will refuse it: renew it; no restart is needed",
			"file", c.certFile, "expired", pair.Leaf.NotAfter)
	}
	c.current = &pair
	return nil
}
