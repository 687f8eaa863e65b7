package system_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// While the identity provider accepts connections and does not respond, the service starts, and no
// request for the page waits. People can sign in once the provider responds.
func TestPageWhileProviderHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	var hangs atomic.Bool
	hangs.Store(true)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hangs.Load() {
			<-r.Context().Done()
			return
		}
		issuer := "http://" + r.Host
		_, _ = io.WriteString(w, `{"issuer":"`+issuer+`","authorization_endpoint":"`+issuer+`/authorize","token_endpoint":"`+issuer+`/token"}`)
	}))
	t.Cleanup(provider.Close)
	r := program.Serve(t, "sqlite::memory:", "--oidc-issuer", provider.URL, "--oidc-audience", "plants", "--oidc-client-id", "page")
	offersSignIn := func() bool {
		began := time.Now()
		status, body, err := program.ReadAll(http.Get(r.URL + "/"))
		if took := time.Since(began); err != nil || status != http.StatusOK || took > 2*time.Second {
			t.Fatalf("GET / got %d, %v in %v", status, err, took)
		}
		return strings.Contains(body, `data-token="`+provider.URL+`/token"`)
	}
	// The provider is asked again after ten seconds, and for five.
	for end := time.Now().Add(12 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if offersSignIn() {
			t.Fatal("the page offers to sign in at a provider that has not responded")
		}
	}
	hangs.Store(false)
	wait.Until(t, "the page offers to sign in", offersSignIn)
}
