package kubernetes

import (
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

var language = parser.NewParser(parser.Options{})

// TestMonitoring checks the alert rules and the dashboard with the series of servers.
func TestMonitoring(t *testing.T) {
	have := series(t)
	t.Run("alerts", func(t *testing.T) { testAlerts(t, have) })
	t.Run("dashboard", func(t *testing.T) { testDashboard(t, have) })
}

// testAlerts checks each rule: Prometheus accepts it, the metrics that it names
// exist, and it is true for the series of one example and false for those of
// another.
func testAlerts(t *testing.T, have []labels.Labels) {
	file, errs := rulefmt.Parse([]byte(read(t, "alerts.yaml")), false, model.LegacyValidation, language, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rules := 0
	for _, group := range file.Groups {
		rules += len(group.Rules)
		for _, rule := range group.Rules {
			t.Run(rule.Alert, func(t *testing.T) {
				wantMetrics(t, rule.Expr, have)
				if !holds(t, rule.Expr, examples[rule.Alert].alert) {
					t.Errorf("the rule is false for %q", examples[rule.Alert].alert)
				}
				if holds(t, rule.Expr, examples[rule.Alert].quiet) {
					t.Errorf("the rule is true for %q", examples[rule.Alert].quiet)
				}
			})
		}
	}
	if len(examples) != rules {
		t.Errorf("there are %d examples for %d rules", len(examples), rules)
	}
}

// wantMetrics fails the test if an expression names a metric or a label that no server has.
func wantMetrics(t *testing.T, text string, have []labels.Labels) {
	t.Helper()
	expr, err := language.ParseExpr(text)
	must.NoError(t, err)
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			wantSeries(t, selector, have)
		}
		return nil
	})
}

func wantSeries(t *testing.T, selector *parser.VectorSelector, have []labels.Labels) {
	t.Helper()
	named := slices.DeleteFunc(slices.Clone(have), func(one labels.Labels) bool {
		return one.Get(model.MetricNameLabel) != selector.Name
	})
	// A status that the test has not caused may be missing, but not its label.
	if !slices.ContainsFunc(named, func(one labels.Labels) bool {
		return !slices.ContainsFunc(selector.LabelMatchers, func(m *labels.Matcher) bool {
			return !one.Has(m.Name) || m.Type == labels.MatchEqual && !m.Matches(one.Get(m.Name))
		})
	}) {
		t.Errorf("no server has the series %s", selector)
	}
	for _, m := range selector.LabelMatchers { // one that leaves nothing out is a mistake
		leavesOut := func(one labels.Labels) bool { return one.Get(m.Name) == m.Value }
		if m.Type == labels.MatchNotEqual && !slices.ContainsFunc(named, leavesOut) {
			t.Errorf("no server has the series %s with %s=%q", selector.Name, m.Name, m.Value)
		}
	}
}

// testDashboard checks that the panels of the dashboard for Grafana fit a screen and are complete, that
// Prometheus accepts each query, and that servers have the metrics that it names.
func testDashboard(t *testing.T, have []labels.Labels) {
	var dashboard struct {
		Panels []struct {
			Title, Description string
			Datasource         struct{ UID string }
			Targets            []struct{ Expr string }
		}
		Templating struct{ List []struct{ Name, Type string } }
	}
	must.NoError(t, json.Unmarshal([]byte(read(t, "dashboard.json")), &dashboard))
	if n := len(dashboard.Panels); n > 8 {
		t.Errorf("%d panels do not fit a screen: write at most 8", n)
	}
	variables := dashboard.Templating.List
	if len(variables) != 1 || variables[0].Type != "datasource" {
		t.Fatalf("the variables are %+v, want the Prometheus that people choose", variables)
	}
	for _, p := range dashboard.Panels {
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("the panel %q lacks a title, a description or a query", p.Title)
		}
		if p.Datasource.UID != "${"+variables[0].Name+"}" {
			t.Errorf("the panel %q does not use the Prometheus that people choose", p.Title)
		}
		for _, target := range p.Targets {
			wantMetrics(t, target.Expr, have)
		}
	}
}

// holds reports whether a rule would alert at the end of an hour with these
// series, which have a value per minute.
func holds(t *testing.T, expr string, series []string) bool {
	t.Helper()
	var all []storage.Series
	for _, text := range series {
		metric, values, err := language.ParseSeriesDesc(text)
		must.NoError(t, err)
		one := promql.Series{Metric: metric}
		for minute, v := range values {
			one.Floats = append(one.Floats, promql.FPoint{T: int64(minute) * 60_000, F: v.Value})
		}
		all = append(all, promql.NewStorageSeries(one))
	}
	store := &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			return &matching{slices.DeleteFunc(slices.Clone(all), func(one storage.Series) bool {
				return !labels.Selector(matchers).Matches(one.Labels())
			}), -1}
		},
	}}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000, Timeout: wait.Limit, Parser: language})
	query, err := engine.NewInstantQuery(t.Context(), store, nil, expr, time.Unix(3600, 0))
	must.NoError(t, err)
	defer query.Close()
	found, err := query.Exec(t.Context()).Vector()
	must.NoError(t, err)
	return len(found) > 0
}

// matching implements [storage.SeriesSet].
type matching struct {
	all []storage.Series
	at  int
}

func (m *matching) Next() bool                        { m.at++; return m.at < len(m.all) }
func (m *matching) At() storage.Series                { return m.all[m.at] }
func (m *matching) Err() error                        { return nil }
func (m *matching) Warnings() annotations.Annotations { return nil }

// examples are series for which a rule alerts, and series for which it does not.
// 0+5x60 begins at 0 and grows by 5 a minute for an hour.
var examples = map[string]struct{ alert, quiet []string }{
	"PlantstoreAbsent": {
		[]string{`up 0x60`},
		[]string{`plantstore_build_info{instance="a"} 1x60`},
	},
	"PlantstoreFailing": {
		[]string{`plantstore_http_request_duration_seconds_count{operation="getPlant",status="200"} 0+97x60`, `plantstore_http_request_duration_seconds_count{operation="getPlant",status="503"} 0+3x60`},
		[]string{`plantstore_http_request_duration_seconds_count{operation="getPlant",status="200"} 0+97x60`, `plantstore_http_request_duration_seconds_count{operation="getPlant",status="404"} 0+97x60`, `plantstore_http_request_duration_seconds_count{operation="unverified",status="503"} 0+97x60`},
	},
	"PlantstoreUnverified": {
		[]string{`plantstore_http_request_duration_seconds_count{operation="unverified",status="503"} 0+3x60`},
		[]string{`plantstore_http_request_duration_seconds_count{operation="getPlant",status="503"} 0+97x60`, `plantstore_http_request_duration_seconds_count{operation="unverified",status="503"} 97x60`},
	},
	"PlantstoreWritesFail": {
		[]string{`plantstore_writes_available{instance="a"} 1x60`, `plantstore_writes_available{instance="b"} 1x57 0x2`},
		[]string{`plantstore_writes_available{instance="a"} 0x50 1x10`, `plantstore_writes_available{instance="b"} 1x60`},
	},
	"PlantstoreSlow": {
		[]string{`plantstore_http_request_duration_seconds_bucket{operation="getPlant",le="1"} 0+90x60`, `plantstore_http_request_duration_seconds_bucket{operation="getPlant",le="10"} 0+99x60`, `plantstore_http_request_duration_seconds_bucket{operation="getPlant",le="+Inf"} 0+100x60`},
		[]string{`plantstore_http_request_duration_seconds_bucket{operation="getPlant",le="1"} 0+100x60`, `plantstore_http_request_duration_seconds_bucket{operation="getPlant",le="10"} 0+100x60`, `plantstore_http_request_duration_seconds_bucket{operation="getPlant",le="+Inf"} 0+100x60`},
	},
	"PlantstoreRestarts": {
		[]string{`plantstore_build_info{instance="a"} 1x60`, `process_start_time_seconds{instance="a"} 1x40 2x5 3x5 4x10`},
		[]string{`plantstore_build_info{instance="a"} 1x60`, `process_start_time_seconds{instance="a"} 1x60`, `process_start_time_seconds{instance="another program"} 1x40 2x5 3x5 4x10`},
	},
	"PlantstorePoolWaits": {
		[]string{`plantstore_pgx_pool_wait_seconds_total 0+20x60`, `plantstore_pgx_pool_acquires_total 0+100x60`},
		[]string{`plantstore_pgx_pool_wait_seconds_total 0+1x60`, `plantstore_pgx_pool_acquires_total 0+100x60`},
	},
	"PlantstoreLogGrows": {
		[]string{`plantstore_sqlite_wal_bytes 2e9x60`},
		[]string{`plantstore_sqlite_wal_bytes 4e6x60`},
	},
	"PlantstoreBackupOld": {
		[]string{`plantstore_sqlite_last_backup_timestamp_seconds -200000x60`},
		[]string{`plantstore_sqlite_last_backup_timestamp_seconds -100000x60`},
	},
	"PlantstoreReplicaBehind": { // it is 3600 now
		[]string{`plantstore_litestream_heartbeat_timestamp_seconds{instance="a"} 3250x50 0x9`, `plantstore_litestream_heartbeat_timestamp_seconds{instance="b"} 3590x60`},
		[]string{`plantstore_litestream_heartbeat_timestamp_seconds{instance="a"} 3590x60`, `plantstore_litestream_heartbeat_timestamp_seconds{instance="b"} 0x60`},
	},
	"PlantstoreWebhookBehind": {
		[]string{`plantstore_webhook_oldest_undelivered_seconds{instance="a"} 0x42 0+60x17`, `plantstore_webhook_oldest_undelivered_seconds{instance="b"} 0x60`},
		[]string{`plantstore_webhook_oldest_undelivered_seconds{instance="a"} 0+60x55 0x5`, `plantstore_webhook_oldest_undelivered_seconds{instance="b"} 0x46 0+60x14`},
	},
	"PlantstoreWebhookStopped": {
		[]string{`plantstore_webhook_delivered_total{job="a"} 0+5x50`, `plantstore_webhook_delivered_total{job="b"} 0+5x60`},
		[]string{`plantstore_webhook_delivered_total{job="a",instance="old"} 0+5x50`, `plantstore_webhook_delivered_total{job="a",instance="new"} 0x60`},
	},
	"PlantstoreCertificateExpires": {
		[]string{`plantstore_tls_certificate_expiry_timestamp_seconds 86400x60`},
		[]string{`plantstore_tls_certificate_expiry_timestamp_seconds 8640000x60`},
	},
}
