package system_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// launchTLS starts a service with a certificate for a host.
func launchTLS(t *testing.T, host string) (r *program.Server, dir string) {
	t.Helper()
	dir = t.TempDir()
	must.NoError(t, program.WriteCertificate(dir, "cert", host, time.Now().Add(time.Hour)))
	r = program.ServeIn(t, dir, "plantstore.db", "--tls-cert", "cert.pem", "--tls-key", "cert-key.pem")
	if !strings.HasPrefix(r.URL, "https://") {
		t.Fatalf("announced %s, want https", r.URL)
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
	needCurl(t)
	r, dir := launchTLS(t, "127.0.0.1")
	typeCommands(t, curls(readme(t, "api/README.md")), r)
	client := &http.Client{
		Timeout:   wait.Limit,
		Transport: plantcontract.Plants().Transport(t, trusting(t, filepath.Join(dir, "cert.pem"))),
	}
	for _, body := range []string{"", strings.Repeat("n", 2<<20)} {
		resp, _, err := r.Send(client, http.MethodPost, "/plants", body)
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
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: wait.Limit}, "tcp", strings.TrimPrefix(r.URL, "https://"),
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
	needCurl(t)
	for _, host := range []string{"127.0.0.1", "localhost", "plants.example.org", "*.example.org"} {
		r, dir := launchTLS(t, host)
		cmd := program.Command(t, "sh", "-c", r.Curl)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "no_proxy=*"}
		if out := program.Finish(t, cmd); !strings.HasPrefix(out, "HTTP/2 200 ") {
			t.Errorf("the certificate is for %s, and %s prints\n%s", host, r.Curl, out)
		}
	}
}

// The next connection gets a renewed certificate. While the two files do not match, it gets the old
// one. An expired certificate is served, and the log has a warning. The metric is the expiry of the
// certificate of the next connection.
func TestCertificateRenewal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.NoError(t, program.WriteCertificate(dir, "cert", "127.0.0.1", time.Now().Add(-time.Hour)))
	r := program.ServeIn(t, dir, "plantstore.db", "--tls-cert", "cert.pem", "--tls-key", "cert-key.pem")
	onDisk := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		must.NoError(t, err)
		block, _ := pem.Decode(text)
		return block.Bytes
	}
	wantShown := func(want []byte, when string) {
		t.Helper()
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: wait.Limit}, "tcp",
			strings.TrimPrefix(r.URL, "https://"), &tls.Config{InsecureSkipVerify: true})
		must.NoError(t, err)
		defer conn.Close()
		if shown := conn.ConnectionState().PeerCertificates[0]; !bytes.Equal(shown.Raw, want) {
			t.Errorf("%s the connection gets the wrong certificate", when)
		}
	}
	old := onDisk("cert.pem")
	wantShown(old, "first")
	must.NoError(t, program.WriteCertificate(dir, "next", "127.0.0.1", time.Now().Add(time.Hour)))
	next := onDisk("next.pem")
	for _, move := range []struct {
		from, to string
		want     []byte
	}{{"next.pem", "cert.pem", old}, {"next-key.pem", "cert-key.pem", next}} {
		must.NoError(t, os.Rename(filepath.Join(dir, move.from), filepath.Join(dir, move.to)))
		for range 2 {
			wantShown(move.want, "after "+move.to+" was replaced")
		}
	}
	expiry := time.Now().Add(2 * time.Hour)
	must.NoError(t, program.WriteCertificate(dir, "cert", "127.0.0.1", expiry))
	if got := r.Metrics(t)["plantstore_tls_certificate_expiry_timestamp_seconds"]; got != float64(expiry.Unix()) {
		t.Errorf("the metric is %v, want %d", got, expiry.Unix())
	}
	r.End(t, syscall.SIGTERM)
	for message, times := range map[string]int{"certificate has expired": 1, "cannot be used": 1, "certificate renewed": 2} {
		if log := r.Stderr.String(); strings.Count(log, message) != times {
			t.Errorf("the log should say %q %d times: %s", message, times, log)
		}
	}
}
