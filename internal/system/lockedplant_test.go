package system_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// A forgotten transaction in psql holds a plant that clients write again and again. Writes of other
// plants are as fast as before, and the signals say that writes work.
func TestLockedPlant(t *testing.T) {
	must.HaveTime(t)
	for _, clients := range []int{1, 4, 64} {
		t.Run(fmt.Sprint(clients, " clients"), func(t *testing.T) {
			dsn := pgtest.DSN(t)
			r := program.Serve(t, dsn)
			r.Want(t, http.StatusCreated, "PUT", "/plants/1", `{"name":"n"}`)
			tx, err := pgtest.Connect(t, dsn).Begin(t.Context())
			must.NoError(t, err)
			_, err = tx.Exec(t.Context(), `UPDATE plants SET name = 'held' WHERE id = 1`)
			must.NoError(t, err)

			web := &http.Client{Timeout: wait.Limit, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * clients}}
			defer web.CloseIdleConnections()
			put := func(path string, count int64) (status int) {
				resp, body, err := r.Send(web, "PUT", path, fmt.Sprintf(`{"name":"%d"}`, count))
				if err != nil {
					t.Errorf("PUT %s: %v", path, err)
					return 0
				}
				if resp.StatusCode >= 500 && path != "/plants/1" {
					t.Errorf("PUT %s is %s %q", path, resp.Status, body)
				}
				return resp.StatusCode
			}
			var count, held atomic.Int64
			stopHeld := wait.Repeat(clients, func(int) bool {
				if put("/plants/1", count.Add(1)) != http.StatusServiceUnavailable {
					held.Add(1)
				}
				return true
			})
			defer stopHeld()
			var mutex sync.Mutex
			var took []time.Duration
			stopOthers := wait.Repeat(4, func(n int) bool {
				began := time.Now()
				put(fmt.Sprintf("/plants/%d", 2+count.Add(1)%1000), count.Load())
				mutex.Lock()
				defer mutex.Unlock()
				took = append(took, time.Since(began))
				return true
			})
			defer stopOthers()
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
				if status, body := r.Page(t, "/writez"); status != http.StatusOK {
					t.Errorf("/writez is %d %q", status, body)
				}
				if got := r.Metrics(t)["plantstore_writes_available"]; got != 1 {
					t.Errorf("plantstore_writes_available is %v", got)
				}
			}
			stopOthers()
			if n := held.Load(); n > 0 {
				t.Errorf("%d writes of the plant that is held have ended", n)
			}
			must.NoError(t, tx.Rollback(t.Context()))
			wait.Until(t, "each client has written the plant", func() bool { return held.Load() >= int64(clients) })
			stopHeld()
			slices.Sort(took)
			p99 := took[len(took)*99/100]
			t.Logf("figures: %d clients of the plant that is held; %d writes of others, p50 %v, p99 %v, max %v",
				clients, len(took), took[len(took)/2], p99, took[len(took)-1])
			if len(took) < 1000 || p99 > 500*time.Millisecond {
				t.Errorf("%d writes of other plants, the 99th percentile is %v", len(took), p99)
			}
		})
	}
}

// A service without a row of the feed is not ready. The next start restores it.
func TestDeletedFeed(t *testing.T) {
	for _, table := range []string{"feed", "epochs"} {
		t.Run(table, func(t *testing.T) {
			dsn := pgtest.DSN(t)
			r := program.Serve(t, dsn)
			r.Want(t, http.StatusCreated, "PUT", "/plants/1", `{"name":"n"}`)
			r.Want(t, http.StatusOK, "GET", "/changes", "")
			_, err := pgtest.Connect(t, dsn).Exec(t.Context(), `DELETE FROM `+table)
			must.NoError(t, err)
			r.WantReady(t, "the store fails: postgres: plant store not available: the table feed or the table epochs has no row")
			r.Want(t, http.StatusServiceUnavailable, "GET", "/changes", "")
			r.End(t, syscall.SIGTERM)
			r = program.Serve(t, dsn)
			r.WantReady(t, "")
			r.Want(t, http.StatusOK, "GET", "/changes", "")
		})
	}
}
