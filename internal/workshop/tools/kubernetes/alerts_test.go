package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// rules returns the alert rules in a file, or what Prometheus would say about it.
func rules(text string) ([]rulefmt.Rule, error) {
	groups, errs := rulefmt.Parse([]byte(text), false, model.LegacyValidation, language, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errs[0]
	}
	var all []rulefmt.Rule
	for _, g := range groups.Groups {
		all = append(all, g.Rules...)
	}
	return all, nil
}

// unknownMetrics returns an error if a rule names a metric or a label that no
// server has.
func unknownMetrics(rule rulefmt.Rule, have []labels.Labels) error {
	expr, err := language.ParseExpr(rule.Expr)
	if err != nil {
		return err
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok || err != nil {
			return nil
		}
		named := slices.ContainsFunc(have, func(series labels.Labels) bool { return series.Get(model.MetricNameLabel) == selector.Name })
		if !named {
			err = fmt.Errorf("%s: no server has the metric %s", rule.Alert, selector.Name)
			return nil
		}
		// A status that the test has not caused may be missing, but not its label.
		if !slices.ContainsFunc(have, func(series labels.Labels) bool {
			return series.Get(model.MetricNameLabel) == selector.Name && !slices.ContainsFunc(selector.LabelMatchers, func(m *labels.Matcher) bool {
				return !series.Has(m.Name) || m.Type == labels.MatchEqual && !m.Matches(series.Get(m.Name))
			})
		}) {
			err = fmt.Errorf("%s: no server has the series %s", rule.Alert, selector)
		}
		for _, m := range selector.LabelMatchers { // one that leaves nothing out is a mistake
			if m.Type == labels.MatchNotEqual && !slices.ContainsFunc(have, func(series labels.Labels) bool {
				return series.Get(model.MetricNameLabel) == selector.Name && series.Get(m.Name) == m.Value
			}) {
				err = fmt.Errorf("%s: no server has the series %s with %s=%q", rule.Alert, selector.Name, m.Name, m.Value)
			}
		}
		return nil
	})
	return err
}

// TestMonitoring checks the alert rules and the dashboard with the series of servers.
func TestMonitoring(t *testing.T) {
	have := series(t)
	t.Run("alerts", func(t *testing.T) { testAlerts(t, have) })
	t.Run("mistakes in alerts", func(t *testing.T) { testAlertMistakes(t, have) })
	t.Run("dashboard", func(t *testing.T) { testDashboard(t, have) })
}

// testAlerts checks each rule: Prometheus accepts it, the metrics that it names
// exist, and it is true for the series of one example and false for those of
// another.
func testAlerts(t *testing.T, have []labels.Labels) {
	all, err := rules(read(t, "alerts.yaml"))
	must.NoError(t, err)
	for _, rule := range all {
		t.Run(rule.Alert, func(t *testing.T) {
			if err := unknownMetrics(rule, have); err != nil {
				t.Error(err)
			}
			example, ok := examples[rule.Alert]
			if !ok {
				t.Fatal("there is no example for this rule")
			}
			for name, c := range map[string]struct {
				series []string
				want   bool
			}{"true": {example.alert, true}, "false": {example.quiet, false}} {
				if got := holds(t, rule.Expr, c.series); got != c.want {
					t.Errorf("the rule is %v for the series that it must be %s for:\n%s", got, name, strings.Join(c.series, "\n"))
				}
			}
		})
	}
	if len(examples) != len(all) {
		t.Errorf("there are %d examples for %d rules", len(examples), len(all))
	}
}

// panels returns the queries of the panels of a dashboard for Grafana, as rules.
func panels(text string) ([]rulefmt.Rule, error) {
	var dashboard struct {
		Panels []struct {
			Title, Description string
			Datasource         struct{ UID string }
			Targets            []struct{ Expr string }
		}
		Templating struct{ List []struct{ Name, Type string } }
	}
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		return nil, err
	}
	if len(dashboard.Panels) > 8 {
		return nil, fmt.Errorf("%d panels do not fit a screen: write at most 8", len(dashboard.Panels))
	}
	var all []rulefmt.Rule
	for _, p := range dashboard.Panels {
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			return nil, fmt.Errorf("the panel %q lacks a title, a description or a query", p.Title)
		}
		if v := dashboard.Templating.List; len(v) != 1 || v[0].Type != "datasource" || p.Datasource.UID != "${"+v[0].Name+"}" {
			return nil, fmt.Errorf("the panel %q does not use the Prometheus that the dashboard lets people choose", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, rulefmt.Rule{Alert: p.Title, Expr: target.Expr})
		}
	}
	return all, nil
}

// testDashboard checks that Prometheus accepts each query of the dashboard, and that
// servers have the metrics that it names.
func testDashboard(t *testing.T, have []labels.Labels) {
	text := read(t, "dashboard.json")
	verify := func(text string) error {
		all, err := panels(text)
		for _, query := range all {
			err = errors.Join(err, unknownMetrics(query, have))
		}
		return err
	}
	if err := verify(text); err != nil {
		t.Error(err)
	}
	for name, mistake := range map[string]edit{
		"an unknown metric": {"plantstore_sqlite_wal_bytes", "plantstore_wal_bytes", "no server has the metric plantstore_wal_bytes"},
		"an unknown label":  {`{error=~`, `{code=~`, "no server has the series"},
		"a wrong query":     {"sum by (status)", "sum by status", "parse"},
		"no query":          {`"targets": [`, `"target": [`, "lacks"},
		"another source":    {`"uid": "${datasource}"`, `"uid": "abc"`, "lets people choose"},
		"too many panels":   {`"panels": [`, `"panels": [{},`, "at most 8"},
	} {
		t.Run(name, func(t *testing.T) { mistake.found(t, verify(mistake.in(t, text))) })
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

// Prometheus and the check of the metrics refuse a wrong rule.
func testAlertMistakes(t *testing.T, have []labels.Labels) {
	text := read(t, "alerts.yaml")
	for name, mistake := range map[string]edit{
		"an unknown metric":          {"plantstore_sqlite_wal_bytes", "plantstore_wal_bytes", "no server has the metric plantstore_wal_bytes"},
		"a histogram without suffix": {"plantstore_http_request_duration_seconds_count{", "plantstore_http_request_duration_seconds{", "no server has the metric"},
		"an unknown label":           {`{status=~"5..",`, `{code=~"5..",`, "no server has the series"},
		"an unknown value":           {`operation!="unverified"`, `operation!="unknown"`, `no server has the series plantstore_http_request_duration_seconds_count with operation="unknown"`},
		"a mistake in an expression": {"sum by (operation, le)", "sum by operation, le", "parse"},
		"an unknown member":          {"    expr: absent", "    expression: absent", "field expression not found"},
		"a mistake in a template":    {"{{ $value | humanizePercentage }}", "{{ $value | percent }}", "percent"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := rules(mistake.in(t, text))
			for _, rule := range all {
				if err == nil {
					err = unknownMetrics(rule, have)
				}
			}
			mistake.found(t, err)
		})
	}
}
