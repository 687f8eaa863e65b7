package system_test

import (
	"net/http"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/webhook"
)

// engines are the stores that the program is tested with.
func engines(t *testing.T) map[string]string {
	all := map[string]string{"sqlite": filepath.Join(t.TempDir(), "plants.db")}
	if pgtest.Given() {
		all["postgres"] = pgtest.DSN(t)
	}
	return all
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
	_, manual := operatorManual(t)
	for engine, store := range engines(t) {
		t.Run(engine, func(t *testing.T) {
			r := program.Serve(t, store)
			r.Token = program.Output(t, "token", "create", "--name", "scraped", "--store", store) // the store is asked for it
			r.Call(t, "POST", "/plants", `{"id":1,"name":"n"}`)
			r.Call(t, "POST", "/plants", `{"id":1,"name":"m"}`)
			r.Call(t, "GET", "/plants/1", "")
			r.Call(t, "GET", "/nowhere", "")
			before := r.Metrics(t)
			r.Call(t, "GET", "/changes", "") // asks for the token again if it takes longer than a moment
			const some = -1
			got := r.Metrics(t)
			for series, want := range map[string]float64{
				`plantstore_http_request_duration_seconds_count{operation="createPlant",status="200"}`: 1,
				`plantstore_http_request_duration_seconds_count{operation="createPlant",status="400"}`: 1,
				`plantstore_http_request_duration_seconds_count{operation="getPlant",status="200"}`:    1,
				`plantstore_http_request_duration_seconds_count{operation="none",status="404"}`:        1,
				`plantstore_http_requests_in_flight`:                                                   0,
				`plantstore_http_streams_total{operation="listChanges",status="200"}`:                  1,
				`plantstore_http_failures_total{error="40010"}`:                                        1,
				`plantstore_http_failures_total{error="40400"}`:                                        1,
				`plantstore_http_failures_total{error="50300"}`:                                        0,
				`plantstore_store_duration_seconds_count{operation="create"}`:                          2,
				`plantstore_store_duration_seconds_count{operation="get"}`:                             1,
				`plantstore_store_group_size_bucket{le="1"}`:                                           some,
				`plantstore_token_cache_entries`:                                                       1,
				`go_goroutines`:                                                                        some,
				`process_resident_memory_bytes`:                                                        some,
			} {
				if value, ok := got[series]; !ok || want != some && value != want {
					t.Errorf("%s is %v, want %v", series, value, want)
				}
			}
			// Three requests before have a token. On a slow machine half a second passes between
			// two of them, and then the store is asked again.
			read, miss, hit := before[`plantstore_store_duration_seconds_count{operation="token"}`],
				before[`plantstore_token_cache_lookups_total{result="miss"}`], before[`plantstore_token_cache_lookups_total{result="hit"}`]
			if miss < 1 || read != miss || hit != 3-miss {
				t.Errorf("the store was asked for %v tokens, with %v misses and %v hits, want together 3 and at least 1 miss", read, miss, hit)
			}
			own := map[string]string{
				"sqlite":   `(?m)^plantstore_sqlite_wal_bytes [1-9]`,
				"postgres": `(?m)^plantstore_pgx_pool_connections\{state="idle"\} [1-9]`,
			}
			const build = `(?m)^plantstore_build_info\{goversion="go[^"]+",revision="[^"]+",version="[^"]+"\} 1$`
			var scrape string
			for _, pattern := range []string{own[engine], build} {
				series := regexp.MustCompile(pattern)
				// The service itself may use the only connection of its pool at the moment of a scrape.
				wait.Until(t, "a series of the scrape matches "+pattern, func() bool {
					_, scrape = r.Page(t, "/metrics")
					return series.MatchString(scrape)
				})
			}

			// The manual lists every metric, and no other.
			listed, there := metricsOf(readmeMetric, manual), metricsOf(scrapedMetric, scrape)
			for name := range metricstest.Of(t, []prometheus.Collector{&webhook.Relay{}}) {
				there[name] = true
			}
			for name := range there {
				if !listed[name] {
					t.Errorf("the manual does not list %s", name)
				}
			}
			elsewhere := regexp.MustCompile("_(pgx|sqlite|tls)_")
			for name := range listed {
				if !there[name] && !elsewhere.MatchString(name) {
					t.Errorf("the manual lists %s, which does not exist", name)
				}
			}

			// The public listener serves no path of the admin listener.
			for _, path := range []string{"/metrics", "/readyz", "/livez", "/debug/pprof/"} {
				r.Want(t, http.StatusNotFound, "GET", path, "")
			}
		})
	}
}

// A web page whose host name resolves to a loopback address gets 403.
func TestAdminRefusesForeignHost(t *testing.T) {
	t.Parallel()
	r := program.Serve(t, "sqlite::memory:")
	req, _ := http.NewRequest(http.MethodGet, r.AdminURL+"/metrics", nil)
	req.Host = "rebound.example.com"
	resp, err := http.DefaultClient.Do(req)
	must.NoError(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("/metrics responds with %s for Host %s, want 403", resp.Status, req.Host)
	}
}
