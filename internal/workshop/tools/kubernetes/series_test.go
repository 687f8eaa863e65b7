package kubernetes

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// series returns the series of a server on PostgreSQL and of one on SQLite with
// TLS, after a request, and those of a webhook.
func series(t *testing.T) []labels.Labels {
	t.Helper()
	postgres(t)
	have, err := scrapeBoth()
	if err != nil {
		t.Fatal(err)
	}
	return have
}

var scrapeBoth = sync.OnceValues(func() ([]labels.Labels, error) {
	dir, err := os.MkdirTemp("", "plantstore-alerts.")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := writeCertificate(dir); err != nil {
		return nil, err
	}
	secret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600); err != nil {
		return nil, err
	}
	var have []labels.Labels
	stop := func(s *server) error {
		scrape, err := s.scrape()
		if err == nil {
			err = s.stop()
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(scrape) {
			if m := sample.FindStringSubmatch(line); m != nil {
				one, err := language.ParseMetric(m[1])
				if err != nil {
					return fmt.Errorf("%s: %w", line, err)
				}
				have = append(have, one)
			}
		}
		return nil
	}
	const admin, token = "PLANTSTORE_ADMIN_ADDR=127.0.0.1:0", "PLANTSTORE_TOKEN=a-token-for-the-webhook"
	for _, env := range [][]string{
		{"PLANTSTORE_STORE=" + os.Getenv("PLANTSTORE_TEST_POSTGRES"), "PLANTSTORE_OIDC_ISSUER=" + noIssuer, "PLANTSTORE_OIDC_AUDIENCE=plants"},
		{"PLANTSTORE_STORE=plants.db", "PLANTSTORE_TLS_CERT=cert.pem", "PLANTSTORE_TLS_KEY=key.pem"},
	} {
		s, err := start(dir, append(env, "PLANTSTORE_ADDR=127.0.0.1:0", admin, token), []string{"serve"}, true)
		if err != nil {
			return nil, err
		}
		_, _, _ = get(s.publicPort, "localhost", "/plants", longEnough) // 401, or 400 from the listener with TLS
		if len(have) == 0 {
			if err := sendUnverified(s.publicPort); err != nil {
				return nil, err
			}
			relay, err := start(dir, []string{admin, token}, []string{
				"webhook", "--server", "http://127.0.0.1:" + s.publicPort, "--to", "http://127.0.0.1:1",
				"--secret-file", "secret", "--from", "now",
			}, false)
			if err != nil {
				return nil, err
			}
			if err := stop(relay); err != nil {
				return nil, err
			}
		}
		if err := stop(s); err != nil {
			return nil, err
		}
	}
	return have, nil
})

// noIssuer is the URL of an identity provider that is not there.
const noIssuer = "http://127.0.0.1:1"

// sendUnverified sends a request with a token of noIssuer, which gets 503.
func sendUnverified(port string) error {
	text := ""
	for _, part := range []string{
		`{"alg":"ES256","kid":"a"}`,
		fmt.Sprintf(`{"iss":%q,"aud":"plants","sub":"a","iat":%d,"exp":%d}`, noIssuer, time.Now().Unix(), time.Now().Add(time.Minute).Unix()),
		"no signature",
	} {
		text += "." + base64.RawURLEncoding.EncodeToString([]byte(part))
	}
	req, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:"+port+"/plants", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+text[1:])
	resp, err := (&http.Client{Timeout: longEnough}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		return fmt.Errorf("a token that cannot be verified gets %s", resp.Status)
	}
	return nil
}

var sample = regexp.MustCompile(`^([^#].*) \S+\n$`)

// writeCertificate writes a certificate and its key to a folder.
func writeCertificate(dir string) error {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	return errors.Join(err,
		os.WriteFile(filepath.Join(dir, "cert.pem"),
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600),
		os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
			0o600))
}
