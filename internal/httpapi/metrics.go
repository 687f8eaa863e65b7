package httpapi

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// durationBuckets are in seconds. A read takes tenths of a millisecond, a durable
// write as long as the disk takes, and few clients wait longer than ten seconds.
var durationBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// noOperation is the label of requests without an operation: unknown paths and
// methods, and OPTIONS. So no request of a client makes a new label.
const noOperation = "none"

// unverified is the label of requests that get 503 because the key of their token is
// unknown and cannot be fetched from the identity provider now. Any client can send
// such a token, so these requests are apart from the others that fail.
const unverified = "unverified"

// statusClientClosed is the status in the log and the metrics of a request whose
// client closed the connection before it had the whole response. nginx uses the
// same number. It is never sent.
const statusClientClosed = 499

// counts are the metrics of all requests.
type counts struct {
	inFlight prometheus.Gauge
	failures map[plantapi.ErrorCode]prometheus.Counter
	requests *prometheus.HistogramVec

	// Of requests that wait for changes. They take as long as the client wishes, so
	// they are not among the other requests.
	streams      prometheus.Gauge
	streamsEnded *prometheus.CounterVec
}

func newCounts(registry prometheus.Registerer) *counts {
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "plantstore_http_failures_total",
		Help: "Error responses by their number.",
	}, []string{"error"})
	c := &counts{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "plantstore_http_requests_in_flight",
			Help: "Requests whose response is not complete.",
		}),
		failures: map[plantapi.ErrorCode]prometheus.Counter{},
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "plantstore_http_request_duration_seconds",
			Help: "Duration of requests in seconds by operation and status. " +
				"Operation none is every unknown path and method, operation unverified a token whose key " +
				"cannot be fetched now, status 499 a response that was cut off.",
			Buckets:                        durationBuckets,
			NativeHistogramBucketFactor:    1.1,
			NativeHistogramMaxBucketNumber: 100,
		}, []string{"operation", "status"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "plantstore_http_streams",
			Help: "Requests that wait for changes or stream them.",
		}),
		streamsEnded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "plantstore_http_streams_total",
			Help: "Requests for changes that have ended, by operation and status.",
		}, []string{"operation", "status"}),
	}
	for code := plantapi.ErrorCode(400_00); code < 600_00; code++ {
		if code.Valid() {
			c.failures[code] = failures.WithLabelValues(strconv.Itoa(int(code)))
		}
	}
	registry.MustRegister(c.inFlight, failures, c.requests, c.streams, c.streamsEnded)
	return c
}
