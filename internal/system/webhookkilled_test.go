package system_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/program"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// receiver is a receiver of webhooks that verifies each of them. The name of a plant is a
// number that grows with each write.
type receiver struct {
	t        *testing.T
	addr     string
	requests atomic.Int64

	mu          sync.Mutex
	fault       func(n int64) fault // of the nth request; nil: none
	server      *http.Server
	connections map[net.Conn]bool
	accepted    int
	ids         map[string]bool // of accepted webhooks
	plants      map[int64]int   // the name of each plant, 0 if it is deleted
	last        map[int64]int   // the same since the relay was started
}

// fault is what a receiver does in place of accepting a webhook.
type fault struct {
	status     int // 0: close the connection
	delay      time.Duration
	retryAfter string
	location   string
}

func newReceiver(t *testing.T) *receiver {
	w := &receiver{t: t, addr: "127.0.0.1:0", connections: map[net.Conn]bool{}, ids: map[string]bool{}, plants: map[int64]int{}, last: map[int64]int{}}
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *receiver) url() string { return "http://" + w.addr + "/a-path-that-is-secret" }

// start listens at the address, which is the same each time.
func (w *receiver) start() {
	listener, err := net.Listen("tcp", w.addr)
	must.NoError(w.t, err)
	w.addr = listener.Addr().String()
	w.server = &http.Server{Handler: w, ConnState: func(c net.Conn, state http.ConnState) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.connections[c] = true
		if state == http.StateClosed || state == http.StateHijacked {
			delete(w.connections, c)
		}
	}}
	go w.server.Serve(listener)
}

// stop closes the listener and every connection.
func (w *receiver) stop() { _ = w.server.Close() }

// fail sets the faults of the next requests.
func (w *receiver) fail(fault func(n int64) fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

// has reports whether a plant has arrived.
func (w *receiver) has(plant int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.plants[plant] == 1
}

// isIdle reports whether nothing is connected, so no webhook can arrive any more.
func (w *receiver) isIdle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.connections) == 0
}

func (w *receiver) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // the relay was killed
		return
	}
	verifier, err := standardwebhooks.NewWebhook(webhookSecret)
	if err == nil {
		err = verifier.Verify(body, r.Header)
	}
	if err != nil {
		w.t.Errorf("a webhook is not valid: %v: %s", err, body)
	}
	w.mu.Lock()
	faultOf := w.fault
	w.mu.Unlock()
	if n := w.requests.Add(1); faultOf != nil {
		if f := faultOf(n); f != (fault{}) {
			f.respond(rw)
			return
		}
	}
	w.accept(r.Header.Get("webhook-id"), body)
}

func (f fault) respond(rw http.ResponseWriter) {
	time.Sleep(f.delay)
	if f.status == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, value := range map[string]string{"Retry-After": f.retryAfter, "Location": f.location} {
		if value != "" {
			rw.Header().Set(name, value)
		}
	}
	rw.WriteHeader(f.status)
}

// accept applies a webhook, which must not be older than an earlier one about the plant of the
// same relay. After a crash older ones may come again, but then the newer ones, too.
func (w *receiver) accept(id string, body []byte) {
	var event struct {
		Type string
		Data client.Plant
	}
	err := json.Unmarshal(body, &event)
	name := 0
	if err == nil && event.Type == "plant.changed" {
		name, err = strconv.Atoi(event.Data.Name)
	}
	if err != nil {
		w.t.Errorf("%v: %s", err, body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	plant := event.Data.ID
	if last, ok := w.last[plant]; ok && name != 0 && (last == 0 || name < last) { // none is created again
		w.t.Errorf("plant %d has the name %d after %d (0: it was deleted)", plant, name, last)
	}
	w.last[plant] = name
	w.accepted++
	w.ids[id], w.plants[plant] = true, name
}

// TestWebhookKilled kills the relay with SIGKILL while plants change and the receiver fails in
// every way. Each change arrives, those of a plant in their order, and at the end the receiver
// has the plants of the service. PLANTSTORE_TEST_WEBHOOK_KILLS is the number of kills; make crash
// has 30, with 20,000 changes.
func TestWebhookKilled(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	kills := must.Number(t, "PLANTSTORE_TEST_WEBHOOK_KILLS", 3)
	plants := max(1, kills/3) * 1000
	r := program.OneOf(t, filepath.Join(t.TempDir(), "plants.db"))
	c := r.Dial(t)
	start, err := c.Now(t.Context())
	must.NoError(t, err)
	w := newReceiver(t)
	w.fail(func(n int64) fault {
		if n%5000 == 0 {
			return fault{status: http.StatusTooManyRequests, retryAfter: "1"}
		}
		switch rand.N(200) {
		case 0:
			return fault{status: http.StatusFound, location: "http://" + w.addr + "/elsewhere"}
		case 1:
			return fault{status: http.StatusBadRequest}
		case 2:
			return fault{delay: 20 * time.Millisecond} // then cuts
		case 3, 4:
			return fault{status: http.StatusInternalServerError}
		case 5:
			return fault{status: http.StatusOK, delay: time.Second} // beyond --timeout
		}
		return fault{}
	})
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"--from", "now", "--concurrency", "16", "--timeout", "300ms"}
	relay := w.relay(r, state, args...)
	wait.Until(t, "the relay has stored where it begins", func() bool { _, err := os.Stat(state); return err == nil })

	var writing sync.WaitGroup
	for i := range 4 {
		writing.Go(func() {
			for first := i * 500; first < plants; first += 2000 {
				r.Want(t, http.StatusOK, http.MethodPost, "/plants:batch", batchOf(int64(first), 500, "1"))
				for id := first; id < first+500; id++ {
					if id%10 == 0 {
						r.Want(t, http.StatusNoContent, http.MethodDelete, fmt.Sprint("/plants/", id), "")
					} else {
						r.Want(t, http.StatusOK, http.MethodPut, fmt.Sprint("/plants/", id), `{"name":"2"}`)
					}
				}
			}
		})
	}
	begin, repeated := time.Now(), 0
	for n := range kills {
		time.Sleep(100*time.Millisecond + rand.N(300*time.Millisecond))
		relay.end(syscall.SIGKILL)
		if n%10 == 5 { // the receiver dies, too
			w.stop()
		}
		wait.Until(t, "what was sent has arrived", w.isIdle)
		relay = w.relay(r, state, args...)
		if n%10 == 5 {
			time.Sleep(100 * time.Millisecond)
			w.start()
		}
	}
	writing.Wait()
	ids, changes := map[string]bool{}, 0
	store := map[int64]int{}
	for change, err := range c.ChangesUntilNow(t.Context(), start) {
		must.NoError(t, err)
		changes++
		store[change.ID] = 0
		if change.Plant != nil {
			store[change.ID] = 2
			ids[fmt.Sprintf("plant_%d_%s", change.ID, change.Plant.ETag)] = true
		}
	}
	if changes != 2*plants {
		t.Fatalf("the feed has %d changes, want %d", changes, 2*plants)
	}
	wait.Until(t, "everything has arrived", func() bool {
		var stored struct{ Position client.Position }
		text, err := os.ReadFile(state)
		must.NoError(t, errors.Join(err, json.Unmarshal(text, &stored)))
		for _, err := range c.ChangesUntilNow(t.Context(), stored.Position) {
			must.NoError(t, err)
			return false
		}
		return true
	})
	if status, log := relay.end(syscall.SIGTERM); status != 0 {
		t.Errorf("the relay ends with %d: %s", status, log)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range ids {
		if !w.ids[id] {
			t.Errorf("the webhook %s is missing", id)
		}
	}
	for id, name := range store {
		if w.plants[id] != name {
			t.Errorf("the receiver has plant %d with the name %d, the service with %d", id, w.plants[id], name)
		}
	}
	if repeated = w.accepted - changes; repeated < 0 || len(w.plants) != len(store) {
		t.Errorf("the receiver accepted %d of %d changes, of %d of %d plants", w.accepted, changes, len(w.plants), len(store))
	}
	t.Logf("figures: %d kills, %d changes in %v: %d requests, %d changes arrived again",
		kills, changes, time.Since(begin).Round(time.Second), w.requests.Load(), repeated)
}
