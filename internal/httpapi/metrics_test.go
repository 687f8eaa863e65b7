package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	fault := error(nil)
	s, _, registry := observed(t, func(real plant.Store) plant.Store {
		return faultyPlants{real, func() error { return fault }}
	}, failed)
	s.post(`{"id":1,"name":"n"}`)
	s.post(`{"id":1,"name":"n"}`)
	fault = plant.ErrExists
	s.post(`{"id":1,"name":"n"}`)
	fault = errors.New("broken")
	s.post(`{"id":1,"name":"n"}`)
	s.call(http.MethodGet, "/plants/7", "")
	s.call(http.MethodOptions, "/plants", "")
	want := map[string]float64{
		"createPlant 200": 2, "createPlant 400": 1, "createPlant 500": 1, "getPlant 404": 1, "none 204": 1,
		"failure 40010": 1, "failure 50000": 1, "failure 40401": 1,
	}
	wantCounts(t, registry, want)

	// No path or method that a client makes up gets a series of its own.
	for i := range 1000 {
		s.call(http.MethodGet, fmt.Sprintf("/%d/plants", i), "")
		s.call(fmt.Sprintf("BREW%d", i), "/plants", "")
	}
	for _, name := range []string{"none 404", "none 405", "failure 40400", "failure 40500"} {
		want[name] = 1000
	}
	wantCounts(t, registry, want)
}

// labelValue matches the value of a label in the name of a series.
var labelValue = regexp.MustCompile(`="([^"]*)"`)

// wantCounts compares the numbers of requests, by operation and status, and of
// failures. Zeros are left out.
func wantCounts(t *testing.T, registry *prometheus.Registry, want map[string]float64) {
	t.Helper()
	all, got := metricstest.Scrape(t, registry), map[string]float64{}
	for series, n := range all {
		values := []string{}
		for _, m := range labelValue.FindAllStringSubmatch(series, -1) {
			values = append(values, m[1])
		}
		name, labels, _ := strings.Cut(series, "{")
		switch what := strings.Join(values, " "); name {
		case "plantstore_http_request_duration_seconds_count":
			got[what] = n
			if sum := all["plantstore_http_request_duration_seconds_sum{"+labels]; sum <= 0 {
				t.Errorf("%s took %v seconds", what, sum)
			}
			bucket := "plantstore_http_request_duration_seconds_bucket{" + strings.TrimSuffix(labels, "}") + `,le="10"}`
			if all[bucket] != n {
				t.Errorf("%v of %v %s took at most 10 seconds", all[bucket], n, what)
			}
		case "plantstore_http_failures_total":
			if n > 0 {
				got["failure "+what] = n
			}
		}
	}
	if n, ok := all["plantstore_http_requests_in_flight"]; !ok || n != 0 {
		t.Errorf("%v requests are in flight", n)
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v\nwant %v", got, want)
	}
}

// plantstore_http_requests_in_flight has what MaxInFlight limits: the requests that the service works for. One whose body
// comes is not one of them.
func TestRequestsInFlight(t *testing.T) {
	t.Parallel()
	held := heldPlants{began: make(chan struct{}, 1), proceed: make(chan struct{}), ended: make(chan error, 1)}
	s, _, registry := observed(t, func(real plant.Store) plant.Store {
		held.Store = real
		return held
	}, failed)
	wantInFlight := func(when string, want float64) {
		t.Helper()
		wait.Until(t, fmt.Sprintf("%v requests are in flight while %s", want, when), func() bool {
			n, ok := metricstest.Scrape(t, registry)["plantstore_http_requests_in_flight"]
			return ok && n == want
		})
	}
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(s.url, "http://"), wait.Limit)
	must.NoError(t, err)
	defer conn.Close()
	must.NoError(t, conn.SetDeadline(time.Now().Add(wait.Limit)))
	responses := bufio.NewReader(conn)
	const body = `{"id":1,"name":"n"}`
	fmt.Fprintf(conn, "POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", staticToken, len(body))
	resp, err := http.ReadResponse(responses, nil)
	if err != nil || resp.StatusCode != http.StatusContinue {
		t.Fatalf("before the body the response is %v, %v", resp, err)
	}
	wantInFlight("a body comes", 0)
	fmt.Fprint(conn, body)
	wait.For(t, "a call of Create", held.began)
	wantInFlight("the store works", 1)
	held.proceed <- struct{}{}
	resp, err = http.ReadResponse(responses, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the response is %v, %v", resp, err)
	}
	wantInFlight("nothing happens", 0)
}
