package metrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ContentType is that of a scrape.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Writer writes metrics in the text format of Prometheus
// (https://prometheus.io/docs/instrumenting/exposition_formats/). Each family is
// begun by Counter, Gauge or Histogram; its samples follow.
//
// Labels are names and values in turns. They are written in the order given,
// which must be the same each time.
type Writer struct {
	text []byte
	name string // of the family that was begun
}

// Counter begins a family of numbers that only grow.
func (w *Writer) Counter(name, help string) { w.family("counter", name, help) }

// Gauge begins a family of numbers that go up and down.
func (w *Writer) Gauge(name, help string) { w.family("gauge", name, help) }

// Histogram begins a family of which each member is a [Histogram].
func (w *Writer) Histogram(name, help string) { w.family("histogram", name, help) }

// Sample writes a counter or a gauge.
func (w *Writer) Sample(value float64, labels ...string) { w.sample("", value, labels...) }

// Buckets writes a histogram. Its count is that of its last bucket; the sum may
// lack what is being observed meanwhile.
func (w *Writer) Buckets(h *Histogram, labels ...string) {
	sum, count := h.sum(), uint64(0)
	labels = slices.Clip(labels)
	for i := range h.counts {
		count += h.counts[i].Load()
		w.sample("_bucket", float64(count), append(labels, "le", formatFloat(h.bound(i)))...)
	}
	w.sample("_sum", sum, labels...)
	w.sample("_count", float64(count), labels...)
}

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func (w *Writer) family(kind, name, help string) {
	w.name = name
	w.text = fmt.Appendf(w.text, "# HELP %s %s\n# TYPE %s %s\n", name, escapeHelp.Replace(help), name, kind)
}

// sample writes a line: the name of the family and a suffix, labels, a value.
func (w *Writer) sample(suffix string, value float64, labels ...string) {
	w.text = append(append(w.text, w.name...), suffix...)
	if len(labels) > 0 {
		before := byte('{')
		for pair := range slices.Chunk(labels, 2) {
			w.text = fmt.Appendf(w.text, `%c%s="%s"`, before, pair[0], escapeLabel.Replace(pair[1]))
			before = ','
		}
		w.text = append(w.text, '}')
	}
	w.text = append(append(append(w.text, ' '), formatFloat(value)...), '\n')
}

// formatFloat writes a number as Prometheus and its other clients do: a bound
// that is written in another way is another series.
func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
