package contracttest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// patient is a network: a client that hangs up does not end what a service does, but the end of the service does.
type patient struct {
	http.Handler
	service context.Context
}

func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	done := make(chan *http.Response, 1)
	go func() {
		response, _ := inProcess{p}.RoundTrip(r.WithContext(p.service))
		done <- response
	}()
	select {
	case response := <-done:
		return response, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// turns lets one request after the other in, as a service with one thread does.
type turns chan struct{}

func (t turns) locked(handle func(r *http.Request) (int, any, error)) http.HandlerFunc {
	return answer(func(r *http.Request) (int, any, error) {
		select {
		case t <- struct{}{}:
			defer func() { <-t }()
			return handle(r)
		case <-r.Context().Done():
			return 0, nil, refused{http.StatusServiceUnavailable, "it ends"}
		}
	})
}

// pause does nothing for a time.
func pause(r *http.Request, length time.Duration) {
	timed, cancel := context.WithTimeout(r.Context(), length)
	defer cancel()
	<-timed.Done()
}

func isKind(value any) bool { return value == "fast" || value == "slow" }

// jobs takes a time for each job that depends on it. It takes one request at a time.
func jobs(allows func(r *http.Request, job object) bool) *http.ServeMux {
	mux, turn := http.NewServeMux(), make(turns, 1)
	members := map[string]member{
		"kind": {true, isKind},
		"name": {true, ofLength(1, 40)},
	}
	mux.Handle("POST /jobs", turn.locked(func(r *http.Request) (int, any, error) {
		job, err := readObject(r, members)
		if err == nil && !allows(r, job) {
			err = refused{http.StatusBadRequest, "name is not valid"}
		}
		return http.StatusCreated, object{"id": 1}, err
	}))
	mux.Handle("GET /jobs", turn.locked(func(r *http.Request) (int, any, error) {
		_, err := waitOf(r)
		return http.StatusOK, []int{1}, err
	}))
	return mux
}

// kindHangs hangs for one of two values.
func kindHangs(r *http.Request, job object) bool {
	if job["kind"] == "slow" {
		pause(r, 1000*time.Hour)
	}
	return true
}

// backtracks takes a microsecond for each step of ^(\w+)+@, a regular expression that its document does not tell.
func backtracks(r *http.Request, job object) bool {
	isOther := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	words := strings.IndexFunc(job["name"].(string)+" ", isOther)
	isAddress := strings.HasPrefix(job["name"].(string)[words:], "@")
	if !isAddress {
		pause(r, time.Microsecond<<min(words, 40))
	}
	return isAddress
}

// waitOf is how long a request says that it may wait.
func waitOf(r *http.Request) (seconds int, err error) {
	if r.URL.Query().Has("wait") {
		seconds, err = strconv.Atoi(r.URL.Query().Get("wait"))
	}
	if err != nil || seconds < 0 || seconds > 60 {
		return 0, refused{http.StatusBadRequest, "wait is not valid"}
	}
	return seconds, nil
}

// polls waits for what never happens: as long as the request says, or for half a minute.
func polls() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /jobs", answer(func(r *http.Request) (int, any, error) {
		wait, err := waitOf(r)
		pause(r, time.Duration(wait)*time.Second)
		return http.StatusOK, []int{}, err
	}))
	mux.Handle("POST /jobs", answer(func(r *http.Request) (int, any, error) {
		_, err := readObject(r, map[string]member{"kind": {true, isKind}, "name": {true, ofLength(1, 40)}})
		if err == nil {
			pause(r, 30*time.Second)
		}
		return http.StatusCreated, object{"id": 1}, err
	}))
	return mux
}

// A request that hangs is a cause, also where it holds up all others, which are not accused. One that waits as long as it says
// is none.
func TestHangs(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("testdata/believed/jobs.yaml")
	must.NoError(t, err)
	for name, c := range map[string]struct {
		service func() *http.ServeMux
		want    string
	}{
		"one value":  {func() *http.ServeMux { return jobs(kindHangs) }, "[addJob gives no response]"},
		"backtracks": {func() *http.ServeMux { return jobs(backtracks) }, "[addJob gives no response]"},
		"long polls": {polls, "[]"},
	} {
		for seed := uint64(1); seed <= 5; seed++ {
			synctest.Test(t, func(t *testing.T) {
				service, end := context.WithCancel(t.Context())
				defer end()
				tests, err := New(document, Options{Seed: seed, Limits: Limits{Time: time.Hour}})
				must.NoError(t, err)
				report, err := tests.Run(t.Context(), Target{URL: "http://jobs.example", Transport: patient{framed(c.service()), service}})
				must.NoError(t, err)
				if got := fmt.Sprint(causeTexts(report.Causes)); got != c.want {
					t.Errorf("%s, seed %d: the causes are %s, want %s: %v", name, seed, got, c.want, report.Causes)
				}
			})
		}
	}
}
