package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A read-only service is ready, answers reads, refuses writes, and stores nothing,
// not even when its tokens were last used.
func TestServeReadOnly(t *testing.T) {
	t.Parallel()
	for name, store := range engines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := watched(t, dir, store)
			stored := output(t, "token", "create", "--name", "client", "--store", store)
			r.want(t, http.StatusOK, http.MethodPost, "/plants", `{"id":1,"name":"n"}`)
			r.end(t, syscall.SIGTERM)

			r = watched(t, dir, store, "--read-only")
			r.token = stored
			r.wantReady(t, "")
			status, header := r.call(t, http.MethodPost, "/plants", `{"id":2,"name":"n"}`)
			if status != http.StatusServiceUnavailable || header.Get("Retry-After") != "5" {
				t.Errorf("a create has the status %d and Retry-After %q, want 503 and 5", status, header.Get("Retry-After"))
			}
			r.want(t, http.StatusOK, http.MethodGet, "/plants/1", "")
			r.wantReady(t, "")
			if status, body := r.page(t, "/writez"); status != http.StatusServiceUnavailable || body != "writes fail: the service is read-only\n" {
				t.Errorf("/writez is %d %q, want that the service is read-only", status, body)
			}
			if _, scrape := r.page(t, "/metrics"); strings.Contains(scrape, "plantstore_writes_available") {
				t.Error("a read-only service has the metric of the alert for writes that fail")
			}
			r.end(t, syscall.SIGTERM) // writes the last uses of a service that is not read-only
			if !strings.Contains(r.stderr.String(), `"msg":"read-only: writes get 503"`) {
				t.Errorf("the log does not say that the service is read-only:\n%s", &r.stderr)
			}
			if out := r.stdout.String(); !strings.Contains(out, "List plants:\n\ncurl -i "+r.url+"/plants -H ") || strings.Contains(out, "-d") {
				t.Errorf("the service suggests a write:\n%s", out)
			}
			var all []struct {
				LastUsedAt *time.Time `json:"last_used_at"`
			}
			if err := json.Unmarshal([]byte(output(t, "token", "list", "--json", "--store", store)), &all); err != nil || len(all) != 1 || all[0].LastUsedAt != nil {
				t.Errorf("the tokens are %+v, %v, want one that was never used", all, err)
			}
		})
	}
}
