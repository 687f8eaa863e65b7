package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// zeros is a body without an end.
type zeros struct{}

func (zeros) Read(text []byte) (int, error) {
	clear(text)
	return len(text), nil
}

// A receiver cannot fill the memory: what is read of a response is bounded, also of one that is shown.
func TestWebhookResponsesAreBounded(t *testing.T) { // not parallel: it changes http.DefaultTransport
	service := clienttest.New(t)
	must.NoError(t, service.Client().Create(t.Context(), client.Plant{ID: 1, Name: "1"}))
	secret := filepath.Join(t.TempDir(), "secret")
	must.NoError(t, os.WriteFile(secret, []byte("whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"), 0o600))
	header := func(w http.ResponseWriter, lines int) {
		for line := range lines {
			w.Header().Set(fmt.Sprint("X-", line), strings.Repeat("x", 1<<10))
		}
	}
	for name, test := range map[string]struct {
		respond http.HandlerFunc
		want    string // of the error; empty: there is none
	}{
		"a header of 32 KiB":  {func(w http.ResponseWriter, _ *http.Request) { header(w, 32) }, ""},
		"a header of 128 KiB": {func(w http.ResponseWriter, _ *http.Request) { header(w, 128) }, "no response from the receiver: "},
		"a header of 9 MiB":   {func(w http.ResponseWriter, _ *http.Request) { header(w, 9<<10) }, "no response from the receiver: "},
		"early hints of 9 MiB": {func(w http.ResponseWriter, _ *http.Request) {
			// Set once: after the client has hung up, net/http may still read the headers of a hint that the handler has sent.
			w.Header().Set("Link", strings.Repeat("x", 1<<10))
			for range 9 << 10 {
				w.WriteHeader(http.StatusEarlyHints)
			}
		}, "no response from the receiver: "},
		"a body without an end": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, zeros{}) }, ""},
	} {
		for _, isHTTP2 := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", HTTP/2: ", isHTTP2), func(t *testing.T) {
				receiver := httptest.NewUnstartedServer(test.respond)
				receiver.EnableHTTP2 = isHTTP2
				receiver.StartTLS()
				defer receiver.Close()
				defer receiver.CloseClientConnections()
				transport := http.DefaultTransport.(*http.Transport)
				before := transport.TLSClientConfig
				transport.TLSClientConfig = receiver.Client().Transport.(*http.Transport).TLSClientConfig
				defer func() { transport.TLSClientConfig = before }()
				var out strings.Builder
				token := func(name string) string { return map[string]string{"PLANTSTORE_TOKEN": service.Token}[name] }
				err := run(t.Context(), system{getenv: token, stdout: &out, stderr: &out}, []string{
					"plantstore", "webhook", "--test", "--server", service.URL, "--to", receiver.URL, "--secret-file", secret, "--timeout", "20s",
				})
				if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("webhook ends with %v, want %q", err, test.want)
				}
				if out.Len() > 200<<10 {
					t.Errorf("webhook has printed %d bytes", out.Len())
				}
			})
		}
	}
}
