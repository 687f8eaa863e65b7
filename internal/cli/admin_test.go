package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
)

// watched starts a service with an admin listener.
func watched(t *testing.T, dir, store string, args ...string) *running {
	t.Helper()
	r, err := launch(dir, []string{"HOME=" + dir}, append([]string{
		"--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--print-token", "--store", store,
	}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kill)
	if r.adminURL == "" {
		t.Fatalf("the admin listener is not announced before the public one:\n%s", r.stdout.String())
	}
	return r
}

// engines are the stores that the program is tested with.
func engines(t *testing.T) map[string]string {
	all := map[string]string{"sqlite": filepath.Join(t.TempDir(), "plants.db")}
	if pgtest.Given() {
		all["postgres"] = pgtest.DSN(t)
	}
	return all
}

// page returns the response of the admin listener to a request.
func (r *running) page(t *testing.T, path string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(r.adminURL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// wantReady waits until /readyz gives the reason text; empty: until it is ready. It
// returns the whole text.
func (r *running) wantReady(t *testing.T, reason string) string {
	t.Helper()
	return r.wantHealth(t, "/readyz", "ready\n", reason)
}

// wantHealth is wantReady for any path that says good with 200.
func (r *running) wantHealth(t *testing.T, path, good, reason string) string {
	t.Helper()
	want, text := http.StatusOK, good
	if reason != "" {
		want, text = http.StatusServiceUnavailable, reason
	}
	for deadline := time.Now().Add(wait.Limit); ; time.Sleep(10 * time.Millisecond) {
		status, body := r.page(t, path)
		if status == want && strings.HasPrefix(body, text) {
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %d %q, want %d %q", path, status, body, want, text)
		}
	}
}

// call sends a request to the public listener.
func (r *running) call(t *testing.T, method, path, body string) (status int, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header
}

// inventPaths sends requests with random paths, without waiting for a response before
// the next request.
func (r *running) inventPaths(t *testing.T, n int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	go func() {
		w := bufio.NewWriter(conn)
		for range n {
			fmt.Fprintf(w, "GET /%x/%x?%x HTTP/1.1\r\nHost: plants\r\n\r\n", rand.Uint64(), rand.Uint64(), rand.Uint64())
		}
		_ = w.Flush() // if it fails, responses are missing
	}()
	for responses := bufio.NewReader(conn); n > 0; n-- {
		resp, err := http.ReadResponse(responses, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		if err != nil || resp.StatusCode != http.StatusNotFound {
			t.Fatalf("%d requests before the last one: %v, %v", n, resp, err)
		}
	}
}

// seriesIn returns the series of a scrape and their values.
func seriesIn(scrape string) map[string]string {
	series := map[string]string{}
	for line := range strings.Lines(scrape) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			series[line[:i]] = strings.TrimSpace(line[i+1:])
		}
	}
	return series
}

var (
	readmeMetric  = regexp.MustCompile("(?m)^\\| `(plantstore_[a-z_]+)`")
	scrapedMetric = regexp.MustCompile(`(?m)^# TYPE (plantstore_[a-z_]+) `)
)

// metricsOf returns the names of metrics in a text.
func metricsOf(pattern *regexp.Regexp, text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		names[m[1]] = true
	}
	return names
}

func TestMetricsEndpoint(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../cmd/plantstore/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for engine, store := range engines(t) {
		t.Run(engine, func(t *testing.T) {
			r := watched(t, t.TempDir(), store)
			r.token = strings.TrimSpace(output(t, "token", "create", "--name", "scraped", "--store", store)) // one that the store is asked for
			r.call(t, "POST", "/plants", `{"id":1,"name":"n"}`)
			r.call(t, "POST", "/plants", `{"id":1,"name":"m"}`)
			r.call(t, "GET", "/plants/1", "")
			r.call(t, "GET", "/nowhere", "")
			_, scrape := r.page(t, "/metrics")
			metricstest.Parse(t, scrape)
			got := seriesIn(scrape)
			for series, want := range map[string]string{
				`plantstore_http_request_duration_seconds_count{operation="createPlant",status="200"}`: "1",
				`plantstore_http_request_duration_seconds_count{operation="createPlant",status="400"}`: "1",
				`plantstore_http_request_duration_seconds_count{operation="getPlant",status="200"}`:    "1",
				`plantstore_http_request_duration_seconds_count{operation="none",status="404"}`:        "1",
				`plantstore_http_requests_in_flight`:                                                   "0",
				`plantstore_http_failures_total{error="40010"}`:                                        "1",
				`plantstore_http_failures_total{error="40400"}`:                                        "1",
				`plantstore_http_failures_total{error="50300"}`:                                        "0",
				`plantstore_store_duration_seconds_count{operation="create"}`:                          "2",
				`plantstore_store_duration_seconds_count{operation="get"}`:                             "1",
				`plantstore_store_group_size_bucket{le="1"}`:                                           "", // some number
				`plantstore_token_cache_entries`:                                                       "1",
				`go_goroutines`:                                                                        "",
				`process_resident_memory_bytes`:                                                        "",
			} {
				if value, ok := got[series]; !ok || want != "" && value != want {
					t.Errorf("%s is %q, want %q", series, value, want)
				}
			}
			// Three requests have a token. On a slow machine half a second passes between
			// two of them, and then the store is asked again.
			read, miss, hit := got[`plantstore_store_duration_seconds_count{operation="token"}`],
				got[`plantstore_token_cache_lookups_total{result="miss"}`], got[`plantstore_token_cache_lookups_total{result="hit"}`]
			if misses, _ := strconv.Atoi(miss); misses < 1 || read != miss || hit != strconv.Itoa(3-misses) {
				t.Errorf("the store was asked for %s tokens, with %s misses and %s hits, want together 3 and at least 1 miss", read, miss, hit)
			}
			own := map[string]string{
				"sqlite":   `(?m)^plantstore_sqlite_wal_bytes [1-9]`,
				"postgres": `(?m)^plantstore_pgx_pool_connections\{state="idle"\} [1-9]`,
			}
			for _, pattern := range []string{own[engine], `(?m)^plantstore_build_info\{goversion="go[^"]+",revision="[^"]+",version="[^"]+"\} 1$`} {
				if !regexp.MustCompile(pattern).MatchString(scrape) {
					t.Errorf("no series of the scrape matches %s", pattern)
				}
			}

			// The manual lists every metric, and no other.
			listed, there := metricsOf(readmeMetric, string(readme)), metricsOf(scrapedMetric, scrape)
			for name := range there {
				if !listed[name] {
					t.Errorf("the manual does not list %s", name)
				}
			}
			for name := range listed {
				if !there[name] && !strings.Contains(name, "_pgx_") && !strings.Contains(name, "_sqlite_") && !strings.Contains(name, "_tls_") {
					t.Errorf("the manual lists %s, which does not exist", name)
				}
			}

			// Paths that a client invents create no series.
			r.inventPaths(t, 10_000)
			r.call(t, "BREW", "/plants", "") // none, 405
			_, scrape = r.page(t, "/metrics")
			var fresh []string
			for series := range seriesIn(scrape) {
				if _, ok := got[series]; !ok && !strings.Contains(series, `{operation="none",status="405"`) {
					fresh = append(fresh, series)
				}
			}
			if len(fresh) > 0 {
				t.Errorf("10,000 unknown paths created the series %q", fresh)
			}
			if got := seriesIn(scrape)[`plantstore_http_request_duration_seconds_count{operation="none",status="404"}`]; got != "10001" {
				t.Errorf("%s unknown paths were counted, want 10001", got)
			}

			// The public listener serves no path of the admin listener.
			for _, path := range []string{"/metrics", "/readyz", "/livez", "/debug/pprof/"} {
				if status, _ := r.call(t, "GET", path, ""); status != http.StatusNotFound {
					t.Errorf("the public listener responds to %s with %d", path, status)
				}
			}
		})
	}
}

// A web page whose host name resolves to a loopback address gets 403.
func TestAdminRefusesForeignHost(t *testing.T) {
	t.Parallel()
	r := watched(t, t.TempDir(), "sqlite::memory:")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.adminURL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.example.com"
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("/metrics responds with %s for Host %s, want 403", resp.Status, req.Host)
	}
}

// While another program locks the file, the service is not ready.
func TestReadyOnSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := watched(t, dir, "plants.db")
	r.wantReady(t, "")
	conn, err := sqlite.OpenConn(filepath.Join(dir, "plants.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqlitex.ExecuteTransient(conn, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	r.wantReady(t, "the store does not respond in time")
	if status, _ := r.page(t, "/livez"); status != http.StatusOK {
		t.Errorf("/livez is %d although only the store is down", status)
	}
	if err := sqlitex.ExecuteTransient(conn, "ROLLBACK", nil); err != nil {
		t.Fatal(err)
	}
	r.wantReady(t, "")
}

// Package postgres tests readiness with a server that has stopped.
func TestReadyOnPostgres(t *testing.T) {
	t.Parallel()
	if !pgtest.Given() {
		pgtest.Skip(t)
	}
	dsn := pgtest.DSN(t)
	r := watched(t, t.TempDir(), dsn)
	r.wantReady(t, "")
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `ALTER TABLE plantstore_schema RENAME TO gone`); err != nil {
		t.Fatal(err)
	}
	r.wantReady(t, "the store fails: postgres: ")
	if _, err := conn.Exec(t.Context(), `ALTER TABLE gone RENAME TO plantstore_schema`); err != nil {
		t.Fatal(err)
	}
	r.wantReady(t, "")
}

// A service that is told to stop is not ready at once, and its admin listener
// stays open until the last request has finished.
func TestReadinessWhileDraining(t *testing.T) {
	t.Parallel()
	r := watched(t, t.TempDir(), "plants.db")
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"id":1,"name":"n"}`
	fmt.Fprintf(conn, "POST /plants HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		r.token, len(body), body[:5])
	wait.Until(t, "the request that is half sent is in flight", func() bool {
		_, scrape := r.page(t, "/metrics")
		return seriesIn(scrape)["plantstore_http_requests_in_flight"] == "1"
	})
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.wantReady(t, "stopping")
	if status, _ := r.page(t, "/livez"); status != http.StatusOK {
		t.Errorf("/livez has the status %d during a shutdown", status)
	}
	if _, err := io.WriteString(conn, body[5:]); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the response to the request in flight is %v, %v", resp, err)
	}
	if err := r.wait(); err != nil {
		t.Errorf("plantstore serve ended with %v\n%s", err, r.stderr.String())
	}
	if resp, err := http.Get(r.adminURL + "/livez"); err == nil {
		resp.Body.Close()
		t.Error("the admin listener is open after the program has ended")
	}
}

// The X-Request-Id of a response finds its request in the log.
func TestLogRequests(t *testing.T) {
	t.Parallel()
	r := watched(t, t.TempDir(), "plants.db", "--log-requests", "all", "--log-slow", "0s")
	_, header := r.call(t, "GET", "/plants/"+r.token+"?"+r.token, "")
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := r.wait(); err != nil {
		t.Fatal(err)
	}
	var found int
	for text := range strings.Lines(r.stderr.String()) {
		var line struct {
			RequestID string `json:"request_id"`
			Path      string
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Errorf("the log is not JSON: %s", text)
		}
		if line.RequestID == header.Get("X-Request-Id") && line.Path == "/plants/pst_…" {
			found++
		}
	}
	if found != 1 || strings.Contains(r.stderr.String(), r.token) {
		t.Errorf("the log has the request %s %d times, want once:\n%s", header.Get("X-Request-Id"), found, r.stderr.String())
	}
}
