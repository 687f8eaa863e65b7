package system_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/pgtest"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

const (
	historyRounds   = 40
	historyFailover = 8 // every eighth round changes the primary
	historyClients  = 6
	historyPlants   = 4
	historyPause    = 20 * time.Millisecond // of a client, at most

	// afterFailure is the pause of a client after an operation without a known outcome. Each of
	// them doubles the histories that are possible.
	afterFailure = 300 * time.Millisecond
)

// TestDrillHistories lets clients of two servers write and read the same few plants, while backends
// of PostgreSQL are killed, it crashes, and the primary changes.
// In each round the clients have other plants. What they have sent and learnt must be a history
// that the document allows (plantModel), the followers of both servers must have every change
// once, in an order that fits, and the history of each plant must have every change once, by its client.
func TestDrillHistories(t *testing.T) {
	h := newHistories(t)
	faults := []struct {
		name    string
		inflict func()
	}{
		{"sessions terminated", func() { h.onSessions("pg_terminate_backend") }},
		{"statements cancelled", func() { h.onSessions("pg_cancel_backend") }},
		{"plants locked", h.lockPlants},
		{"a backend killed", h.killBackend},
		{"a crash", h.crash},
		{"a crash with synchronous_commit = off", h.crashWithoutSync},
	}
	for i := range historyRounds {
		fault := faults[i%len(faults)]
		if i%historyFailover == historyFailover-1 {
			fault.name, fault.inflict = "the primary killed", h.failover
		}
		h.round(int64(i), fault.name, fault.inflict)
	}
	h.checkFeeds()
	h.figures()
	if h.undecided > historyRounds/10 {
		t.Errorf("of %d rounds %d have no result in time", historyRounds, h.undecided)
	}
}

// histories are two servers on one PostgreSQL, their clients, and what these have learnt.
type histories struct {
	t                *testing.T
	primary, standby *pgtest.Server
	dsn              string
	servers          [2]*program.Server
	web              *http.Client
	impatient        bool     // the clients hang up now and then
	tokens           []string // of the clients
	began            time.Time
	stop             context.CancelFunc
	followers        []*historyFollower
	following        sync.WaitGroup

	mu         sync.Mutex
	history    []porcupine.Operation // of the round
	all        []porcupine.Operation // of all rounds
	last       map[int64]version     // that a client has seen
	lastNumber int
	final      map[int64]plantState
	undecided  int
	faults     map[string]int
	outages    []time.Duration // from a failover to the next success
	entries    int             // in the histories of the plants
}

func newHistories(t *testing.T) *histories {
	t.Helper()
	primary := pgtest.NewServer(t, "synchronous_standby_names = '*'", "wal_keep_size = '64MB'",
		"wal_writer_delay = '10s'") // so a crash loses what it may
	standby := primary.NewStandby()
	h := &histories{
		t: t, primary: primary, standby: standby, dsn: pgtest.URL(primary, standby), impatient: true, began: time.Now(),
		web:  &http.Client{Timeout: wait.Limit, Transport: &http.Transport{MaxIdleConnsPerHost: 4 * historyClients}},
		last: map[int64]version{}, final: map[int64]plantState{}, faults: map[string]int{},
	}
	h.waitForStandby()
	for i := range h.servers {
		h.servers[i] = program.OneOf(t, h.dsn)
	}
	for client := range historyClients + 1 {
		text := program.Output(t, "token", "create", "--store", h.dsn, "--name", nameOfClient(client))
		h.tokens = append(h.tokens, strings.TrimSpace(text))
	}
	ctx, cancel := context.WithCancel(t.Context())
	h.stop = func() { cancel(); h.following.Wait() }
	t.Cleanup(h.stop)
	now, err := h.servers[0].Dial(t).Now(t.Context())
	must.NoError(t, err)
	for _, r := range h.servers {
		for _, stream := range []bool{false, true} {
			f := &historyFollower{server: r, position: now}
			h.followers = append(h.followers, f)
			h.following.Go(func() { f.follow(ctx, t, stream) })
		}
	}
	return h
}

// round lets the clients work during a fault.
func (h *histories) round(number int64, name string, inflict func()) {
	h.t.Helper()
	h.mu.Lock()
	h.history = nil
	h.faults[name]++
	h.mu.Unlock()
	var ids []int64
	for i := range int64(historyPlants) {
		ids = append(ids, 100*number+i)
	}
	stop := wait.Repeat(historyClients, func(client int) bool {
		known := h.operate(client, rand.N(2), h.next(ids[rand.N(len(ids))]))
		if known {
			time.Sleep(rand.N(historyPause))
		} else {
			time.Sleep(afterFailure)
		}
		return true
	})
	h.waitForMore(10 * historyClients)
	inflict()
	h.waitForMore(10 * historyClients)
	stop()
	h.readLast(ids)
	h.check(name)
	for _, id := range ids {
		h.checkEntries(id)
	}
	for _, f := range h.followers {
		wait.Until(h.t, "a follower has what is stored", func() bool {
			if f.has(ids, h.final) {
				return true
			}
			h.readLast(ids) // a write whose client has hung up may be stored only now
			return false
		})
	}
}

// readLast reads plants from both servers after all clients have ended.
func (h *histories) readLast(ids []int64) {
	h.t.Helper()
	for _, id := range ids {
		for server := range h.servers {
			wait.Until(h.t, "the service works", func() bool {
				return h.operate(historyClients, server, historyInput{Operation: "get", ID: id})
			})
		}
	}
	for _, o := range h.history {
		in, out := o.Input.(historyInput), o.Output.(historyOutput)
		if o.ClientId == historyClients && out.Outcome != notKnown {
			h.final[in.ID] = plantState{Exists: out.Outcome == succeeded, Plant: out.Plant}
		}
	}
}

// waitForMore waits until more operations have a known outcome.
func (h *histories) waitForMore(n int) {
	h.t.Helper()
	h.mu.Lock()
	began := len(h.history)
	h.mu.Unlock()
	wait.Until(h.t, "the service works", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		more := 0
		for _, o := range h.history[began:] {
			if o.Return != never {
				more++
			}
		}
		return more >= n
	})
}

// next returns an operation with texts of its own.
func (h *histories) next(id int64) historyInput {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastNumber++
	in := historyInput{ID: id, Operation: []string{"create", "put", "put", "patch", "delete", "get", "get"}[rand.N(7)]}
	text := fmt.Sprint("n", h.lastNumber)
	seen, found := h.last[id]
	conditional := found && rand.N(2) == 0
	switch in.Operation {
	case "create":
		in.Name = text
	case "put":
		in.Name, in.Tag = text, "t"
		in.IfNone = rand.N(8) == 0
		conditional = conditional && !in.IfNone
	case "patch":
		if rand.N(2) == 0 {
			in.Name = text
		} else {
			in.Tag = text
		}
	}
	if conditional && in.Operation != "create" && in.Operation != "get" {
		in.IfMatch = seen
	}
	return in
}

// operate sends an operation, and adds it to the history. It returns false if its outcome is
// not known. A read without a response says nothing.
func (h *histories) operate(client, server int, in historyInput) (known bool) {
	in.By = nameOfClient(client)
	method, path, body := "GET", fmt.Sprint("/plants/", in.ID), ""
	texts := map[string]any{}
	if in.Name != "" {
		texts["name"] = in.Name
	}
	if in.Tag != "" {
		texts["tag"] = in.Tag
	}
	switch in.Operation {
	case "create":
		method, path = "POST", "/plants"
		texts["id"] = in.ID
	case "put":
		method = "PUT"
	case "patch":
		method = "PATCH"
	case "delete":
		method = "DELETE"
	}
	if len(texts) > 0 {
		text, err := json.Marshal(texts)
		must.NoError(h.t, err)
		body = string(text)
	}
	r := h.servers[server]
	headers := http.Header{"Authorization": {"Bearer " + h.tokens[client]}}
	if in.IfMatch != (version{}) {
		headers.Set("If-Match", `"`+in.IfMatch.ETag+`"`)
	}
	if in.IfNone {
		headers.Set("If-None-Match", "*")
	}
	ctx, hangUp := h.patience()
	defer hangUp()
	call := time.Since(h.began)
	status, text, err := h.send(ctx, r, method, path, body, headers)
	o := porcupine.Operation{ClientId: client, Input: in, Call: int64(call), Return: int64(time.Since(h.began))}
	var out historyOutput
	switch {
	case err != nil || status == http.StatusServiceUnavailable:
		out.Outcome, o.Return = notKnown, never
	case status == http.StatusNotFound:
		out.Outcome = notFound
	case status == http.StatusPreconditionFailed:
		out.Outcome = failedCondition
	case status == http.StatusBadRequest && strings.Contains(text, "40010"):
		out.Outcome = idTaken
	case status/100 == 2:
		out.Outcome = succeeded
	default:
		h.t.Errorf("%s %s: %d %.300s", method, path, status, text)
		return true
	}
	if err != nil && ctx.Err() == nil {
		h.t.Errorf("%s %s: %v", method, path, err) // the servers run: each request gets a response
	}
	known = out.Outcome != notKnown
	if out.Outcome == succeeded && in.Operation != "create" && in.Operation != "delete" {
		must.NoError(h.t, json.Unmarshal([]byte(text), &out.Plant))
	}
	o.Output = out
	h.mu.Lock()
	defer h.mu.Unlock()
	if out.Plant != (version{}) {
		h.last[in.ID] = out.Plant
	}
	if known || in.Operation != "get" {
		h.history = append(h.history, o)
	}
	return known
}

// patience is how long a client waits for a response. One of twenty hangs up soon if the clients are
// impatient: a connection is lost, and what was sent may be stored.
func (h *histories) patience() (ctx context.Context, end func()) {
	patience := wait.Limit
	if h.impatient && rand.N(20) == 0 {
		patience = rand.N(5 * time.Millisecond)
	}
	return context.WithTimeout(h.t.Context(), patience)
}

func (h *histories) send(
	ctx context.Context, r *program.Server, method, path, body string, headers http.Header,
) (status int, text string, _ error) {
	req, err := r.NewRequest(method, path, body)
	if err != nil {
		return 0, "", err
	}
	maps.Copy(req.Header, headers)
	return program.ReadAll(h.web.Do(req.WithContext(ctx)))
}

// check checks the history of a round.
func (h *histories) check(name string) {
	h.t.Helper()
	switch result := porcupine.CheckOperationsTimeout(plantModel, h.history, wait.Limit/2); result {
	case porcupine.Unknown:
		h.undecided++
	case porcupine.Illegal:
		h.t.Fatalf("%s: the history is not linearizable:\n%s", name, describe(h.history))
	}
	h.all = append(h.all, h.history...)
}

// describe prints the operations on the plants without a linearization.
func describe(history []porcupine.Operation) string {
	var text strings.Builder
	for _, part := range plantModel.Partition(history) {
		if porcupine.CheckOperations(plantModel, part) {
			continue
		}
		slices.SortFunc(part, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
		for _, o := range part {
			fmt.Fprintf(&text, "%v–%v client %d: %+v -> %+v\n", time.Duration(o.Call), time.Duration(o.Return), o.ClientId, o.Input, o.Output)
		}
	}
	return text.String()
}
