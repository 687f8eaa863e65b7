package kubernetes

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// noIssuer is the URL of an identity provider that is not there.
const noIssuer = "http://127.0.0.1:1"

// series returns the series of a server on PostgreSQL, of one on SQLite with TLS, and of a webhook.
func series(t *testing.T) (have []labels.Labels) {
	t.Helper()
	folder := t.TempDir()
	must.NoError(t, program.WriteCertificate(folder, "cert", "localhost", time.Now().Add(time.Hour)))
	secret := filepath.Join(folder, "secret")
	must.NoError(t, os.WriteFile(secret, []byte("whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32))), 0o600))

	onPostgres := program.ServeIn(t, folder, postgres(t), "--oidc-issuer", noIssuer, "--oidc-audience", "plants")
	onPostgres.With(onPostgres.URL, "unknown").Want(t, http.StatusUnauthorized, http.MethodGet, "/plants", "")
	onPostgres.With(onPostgres.URL, unverifiedToken()).Want(t, http.StatusServiceUnavailable, http.MethodGet, "/plants", "")
	onFile := program.ServeIn(t, folder, "plants.db", "--tls-cert", "cert.pem", "--tls-key", "cert-key.pem")
	relay, err := program.LaunchAdmin(onPostgres.Command(t, "webhook", "--to", "http://127.0.0.1:1", "--secret-file", secret,
		"--state", filepath.Join(folder, "state"), "--from", "now", "--admin-addr", "127.0.0.1:0"))
	must.NoError(t, err)
	for _, r := range []*program.Server{relay, onFile, onPostgres} {
		_, text := r.Page(t, "/metrics")
		for _, sample := range regexp.MustCompile(`(?m)^([^#\n].*) \S+$`).FindAllStringSubmatch(text, -1) {
			one, err := language.ParseMetric(sample[1])
			must.NoError(t, err)
			have = append(have, one)
		}
		r.End(t, syscall.SIGTERM)
	}
	return have
}

// unverifiedToken returns a token of noIssuer, whose keys the service cannot fetch.
func unverifiedToken() string {
	now := time.Now()
	var parts []string
	for _, part := range []string{
		`{"alg":"ES256","kid":"a"}`,
		fmt.Sprintf(`{"iss":%q,"aud":"plants","sub":"a","iat":%d,"exp":%d}`, noIssuer, now.Unix(), now.Add(time.Minute).Unix()),
		"no signature",
	} {
		parts = append(parts, base64.RawURLEncoding.EncodeToString([]byte(part)))
	}
	return strings.Join(parts, ".")
}
