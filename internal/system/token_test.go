package system_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Every server refuses a revoked token within a second after plantstore token
// revoke, also a client that sends all the time.
func TestRevocationTakesEffect(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { testRevocationBites(t, filepath.Join(t.TempDir(), "plants.db")) })
	t.Run("postgres", func(t *testing.T) { testRevocationBites(t, pgtest.DSN(t)) })
}

func testRevocationBites(t *testing.T, store string) {
	t.Parallel() // it waits for the clock
	servers := []*program.Server{program.Serve(t, store, "--failed-auth-limit", "off"), program.Serve(t, store, "--failed-auth-limit", "off")}
	token := program.Output(t, "token", "create", "--name", "hammer", "--store", store)

	var mu sync.Mutex
	var lastSuccess time.Time  // when the last request with the status 200 was sent
	var responded [4]time.Time // when each client sent its last request that has a response
	statuses := map[int]int{}
	stop := wait.Repeat(len(responded), func(n int) bool {
		time.Sleep(5 * time.Millisecond) // more requests only take the processors from other tests
		sent := time.Now()
		r := servers[n%2].With(servers[n%2].URL, token)
		resp, _, err := r.Send(http.DefaultClient, http.MethodPost, "/plants", `{"id":1,"name":"n"}`)
		if err != nil {
			t.Error(err)
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		responded[n] = sent
		statuses[resp.StatusCode]++
		if resp.StatusCode == http.StatusOK && sent.After(lastSuccess) {
			lastSuccess = sent
		}
		return true
	})
	await := func(what string, begin time.Time) {
		wait.Until(t, what, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return t.Failed() || slices.MinFunc(responded[:], time.Time.Compare).After(begin)
		})
	}
	await("each client has a response", time.Time{})
	time.Sleep(700 * time.Millisecond) // the token is remembered, and asked about again
	program.Output(t, "token", "revoke", token[4:16], "--store", store)
	revoked := time.Now()
	await("each client has a response to a request sent a second after the revocation", revoked.Add(time.Second))
	stop()

	if late := lastSuccess.Sub(revoked); late > time.Second {
		t.Errorf("a request sent %v after the revocation got 200", late)
	}
	if statuses[http.StatusOK] == 0 || statuses[http.StatusUnauthorized] == 0 || len(statuses) != 2 {
		t.Errorf("responses by status are %v, want 200 and then 401", statuses)
	}
	t.Logf("responses by status are %v, the last 200 to a request sent %v after the revocation", statuses, lastSuccess.Sub(revoked))
}
