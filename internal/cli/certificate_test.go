package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// writeCertificate writes a self-signed certificate for a host, and its key, to
// NAME.pem and NAME-key.pem in a folder.
func writeCertificate(dir, name, host string, expires time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: host},
		NotBefore:    time.Now().Add(-48 * time.Hour),
		NotAfter:     expires,
		IsCA:         true, BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	write := func(file, kind string, der []byte) error {
		return os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	return errors.Join(write(name+".pem", "CERTIFICATE", der), write(name+"-key.pem", "PRIVATE KEY", keyDER))
}

// launchTLS starts a service with a certificate for a host.
func launchTLS(t *testing.T, host string) (r *running, dir string) {
	t.Helper()
	dir = t.TempDir()
	must.NoError(t, writeCertificate(dir, "cert", host, time.Now().Add(time.Hour)))
	r = watched(t, dir, "plantstore.db", "--tls-cert", "cert.pem", "--tls-key", "cert-key.pem")
	if !strings.HasPrefix(r.url, "https://") {
		t.Fatalf("announced %s, want https", r.url)
	}
	return r, dir
}

// trusting returns a transport for HTTP/2 that trusts only one certificate.
func trusting(t *testing.T, certFile string) *http.Transport {
	t.Helper()
	text, err := os.ReadFile(certFile)
	must.NoError(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatalf("%s holds no certificate", certFile)
	}
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
}

// The commands of api/README.md work over HTTP/2, too.
func TestReadmeTLS(t *testing.T) {
	t.Parallel()
	r, dir := launchTLS(t, "127.0.0.1")
	client := &http.Client{
		Timeout:   wait.Limit,
		Transport: plantcontract.Plants().Transport(t, trusting(t, filepath.Join(dir, "cert.pem"))),
	}
	typeCommands(t, curls(readme(t, "api/README.md")), r, client, "HTTP/2.0")
	for _, body := range []string{"", strings.Repeat("n", 2<<20)} {
		resp, _, err := r.send(client, http.MethodPost, "/plants", body)
		if err != nil || resp.StatusCode != http.StatusBadRequest || resp.ProtoMajor != 2 {
			t.Errorf("a body of %d bytes gets %+v, %v, want 400 over HTTP/2", len(body), resp, err)
		}
	}
}

// TLS 1.2 is the oldest version that the service accepts.
func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	r, _ := launchTLS(t, "127.0.0.1")
	for version, accepted := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: wait.Limit}, "tcp", strings.TrimPrefix(r.url, "https://"),
			&tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
		if err == nil {
			conn.Close()
		}
		if (err == nil) != accepted {
			t.Errorf("a handshake with %s ends with %v, want it accepted: %v", tls.VersionName(version), err, accepted)
		}
	}
}

// The printed curl command works without a change, for every host that the
// certificate may be for.
func TestPrintedCurlTLS(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"127.0.0.1":          `https://127\.0\.0\.1:(\d+)/plants --cacert cert\.pem`,
		"localhost":          `https://localhost:(\d+)/plants --connect-to localhost:\d+:127\.0\.0\.1:\d+ --cacert cert\.pem`,
		"plants.example.org": `https://plants\.example\.org:(\d+)/plants --connect-to plants\.example\.org:\d+:127\.0\.0\.1:\d+ --cacert cert\.pem`,
		"*.example.org":      `https://plants\.example\.org:(\d+)/plants --connect-to plants\.example\.org:\d+:127\.0\.0\.1:\d+ --cacert cert\.pem`,
	} {
		t.Run(host, func(t *testing.T) {
			r, dir := launchTLS(t, host)
			if !regexp.MustCompile(`^curl -i ` + want + ` -H `).MatchString(r.curl) {
				t.Fatalf("printed %s, want %s", r.curl, want)
			}
			words := split(t, r.curl, nil)
			transport := trusting(t, filepath.Join(dir, "cert.pem"))
			var rest []string
			for i := 0; i < len(words); i++ {
				switch words[i] {
				case "--cacert":
					i++
				case "--connect-to":
					i++
					_, at, _ := strings.Cut(words[i], ":")
					_, at, _ = strings.Cut(at, ":")
					transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
						return new(net.Dialer).DialContext(ctx, network, at)
					}
				default:
					rest = append(rest, words[i])
				}
			}
			req, err := parseCurl(rest, "")
			must.NoError(t, err)
			resp, err := (&http.Client{
				Timeout:   wait.Limit,
				Transport: plantcontract.Plants().Transport(t, transport),
			}).Do(req)
			must.NoError(t, err)
			if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
				t.Errorf("the response is %s %s, want 200 over HTTP/2", resp.Proto, resp.Status)
			}
		})
	}
}

// The next connection gets a renewed certificate. While the two files do not
// match, it gets the old one.
func TestCertificateRenewal(t *testing.T) {
	t.Parallel()
	r, dir := launchTLS(t, "127.0.0.1")
	shown := func() []byte {
		t.Helper()
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: wait.Limit}, "tcp",
			strings.TrimPrefix(r.url, "https://"), &tls.Config{InsecureSkipVerify: true})
		must.NoError(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].Raw
	}
	onDisk := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		must.NoError(t, err)
		block, _ := pem.Decode(text)
		return block.Bytes
	}
	old := onDisk("cert.pem")
	if !bytes.Equal(shown(), old) {
		t.Error("the first certificate is not the one in the file")
	}
	must.NoError(t, writeCertificate(dir, "next", "127.0.0.1", time.Now().Add(time.Hour)))
	for i, move := range []struct{ from, to string }{{"next.pem", "cert.pem"}, {"next-key.pem", "cert-key.pem"}} {
		must.NoError(t, os.Rename(filepath.Join(dir, move.from), filepath.Join(dir, move.to)))
		want := old
		if i == 1 {
			want = onDisk("cert.pem")
		}
		for range 2 {
			if !bytes.Equal(shown(), want) {
				t.Errorf("after %s was replaced the connection gets the wrong certificate", move.to)
			}
		}
	}
	r.end(t, syscall.SIGTERM)
	if log := r.stderr.String(); strings.Count(log, "cannot be used") != 1 || strings.Count(log, "certificate renewed") != 1 {
		t.Errorf("the log should say once that the files do not match, and once that the certificate is renewed: %s", log)
	}
}

// The metric is the expiry of the certificate of the next connection. An expired
// certificate is served, and the log has a warning.
func TestCertificateMetric(t *testing.T) {
	t.Parallel()
	const name = "plantstore_tls_certificate_expiry_timestamp_seconds"
	dir := t.TempDir()
	expiry := time.Now().Add(-time.Hour)
	must.NoError(t, writeCertificate(dir, "cert", "127.0.0.1", expiry))
	r := watched(t, dir, "sqlite::memory:", "--tls-cert", "cert.pem", "--tls-key", "cert-key.pem")
	for range 2 {
		if got := r.metrics(t)[name]; got != float64(expiry.Unix()) {
			t.Errorf("%s is %v, want %d", name, got, expiry.Unix())
		}
		expiry = expiry.Add(24 * time.Hour)
		must.NoError(t, writeCertificate(dir, "cert", "127.0.0.1", expiry))
	}
	r.end(t, syscall.SIGTERM)
	if log := r.stderr.String(); !strings.Contains(log, "certificate has expired") {
		t.Errorf("the log should say that the certificate has expired: %s", log)
	}
}
