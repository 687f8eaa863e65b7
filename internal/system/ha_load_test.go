//go:build linux

package system_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

const (
	haClients = 6 // of each kind and server
	haPause   = 10 * time.Millisecond
	haRepeat  = 20 * time.Millisecond // until a request is sent again
)

// haLoad is two servers with clients that write and read.
type haLoad struct {
	t       *testing.T
	servers []*program.Server
	http    *http.Client
	clients sync.WaitGroup

	mu      sync.Mutex
	lastID  int64
	plants  map[int64]*haPlant
	recent  [2][]*haPlant // acknowledged last, by each server
	refused []*haPlant    // without an acknowledgement, last
	row     haRow
}

// haPlant is what the clients know about a plant.
type haPlant struct {
	id           int64
	acknowledged bool
	deletes      bool // it is or was to be deleted
	deleted      bool // that was acknowledged
	seen         bool // a read has returned it
	created      time.Time
	counted      bool // as lost, doubled or dirty
}

// haRow is a row of the table.
type haRow struct {
	acknowledged, lost, doubled, stale, dirty int
	writes, reads                             [2]gap // of each server
	slowest                                   time.Duration
	staleFrom, staleTo                        time.Time
	responses                                 map[int]int // by status
}

// gap is the longest time without a success.
type gap struct {
	last    time.Time
	longest time.Duration
}

func (g *gap) success(now time.Time) {
	g.longest, g.last = max(g.longest, now.Sub(g.last)), now
}

// startHALoad starts a server on each of the stores, and the clients.
func startHALoad(t *testing.T, stores [2]string) *haLoad {
	t.Helper()
	l := &haLoad{
		t: t, plants: map[int64]*haPlant{},
		http: &http.Client{Timeout: wait.Limit, Transport: &http.Transport{MaxIdleConnsPerHost: 4 * haClients}},
	}
	for _, store := range stores {
		l.servers = append(l.servers, program.OneOf(t, store))
	}
	t.Cleanup(l.clients.Wait)
	l.begin()
	for server := range l.servers {
		for range haClients {
			l.clients.Go(func() { l.loop(func() { l.writeOne(server) }) })
			l.clients.Go(func() { l.loop(func() { l.readOne(server) }) })
		}
	}
	l.mustWrite()
	return l
}

func (l *haLoad) loop(fn func()) {
	for l.pause(haPause/2 + rand.N(haPause)) {
		fn()
	}
}

// pause returns false at the end of the test.
func (l *haLoad) pause(takes time.Duration) (goOn bool) {
	time.Sleep(takes)
	return l.t.Context().Err() == nil
}

// send sends a request and records its response. It returns 0 if there is none.
func (l *haLoad) send(server int, gaps *[2]gap, method, path, body string, good ...int) int {
	sent, status := time.Now(), 0
	resp, _, err := l.servers[server].Send(l.http, method, path, body)
	if err == nil {
		status = resp.StatusCode
	} else {
		l.t.Errorf("%s %s: %v", method, path, err)
	}
	if status != http.StatusServiceUnavailable && !slices.Contains(good, status) {
		l.t.Errorf("%s %s: status %d, want one of %d or 503", method, path, status, good)
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.row.responses[status]++
	l.row.slowest = max(l.row.slowest, now.Sub(sent))
	if slices.Contains(good, status) {
		gaps[server].success(now)
	}
	return status
}

// writeOne creates a plant. After a 503 it repeats the create or gives up. It deletes
// some of the plants.
func (l *haLoad) writeOne(server int) {
	l.mu.Lock()
	l.lastID++
	p := &haPlant{id: l.lastID}
	p.deletes = p.id%8 == 0
	l.plants[p.id] = p
	l.mu.Unlock()
	body := fmt.Sprintf(`{"id":%d,"name":%q}`, p.id, plantName(p.id))
	for l.send(server, &l.row.writes, "POST", "/plants", body, 200) != 200 {
		if p.id%2 == 1 || !l.pause(haRepeat) {
			l.mu.Lock()
			l.refused = lastOf(append(l.refused, p))
			l.mu.Unlock()
			return
		}
	}
	l.mu.Lock()
	p.acknowledged = true
	l.row.acknowledged++
	if !p.deletes {
		l.recent[server] = lastOf(append(l.recent[server], p))
	}
	l.mu.Unlock()
	for again := false; p.deletes; again = true {
		status := l.send(server, &l.row.writes, "DELETE", fmt.Sprint("/plants/", p.id), "", 204, 404)
		if status == 204 || status == 404 {
			l.mu.Lock()
			p.deleted = true
			if status == 404 && !again {
				l.staleNow()
			}
			l.mu.Unlock()
			return
		}
		if !l.pause(haRepeat) {
			return
		}
	}
}

// lastOf keeps the last plants.
func lastOf(plants []*haPlant) []*haPlant {
	if len(plants) > 400 {
		plants = slices.Clone(plants[len(plants)-200:])
	}
	return plants
}

// readOne reads a plant that the other server has acknowledged, and sometimes one
// that no server has acknowledged.
func (l *haLoad) readOne(server int) {
	l.mu.Lock()
	from := l.recent[1-server]
	if rand.N(4) == 0 && len(l.refused) > 0 {
		from = l.refused
	}
	if len(from) == 0 {
		l.mu.Unlock()
		return
	}
	p := from[rand.N(len(from))]
	acknowledged := p.acknowledged // before the read is sent
	l.mu.Unlock()
	status := l.send(server, &l.row.reads, "GET", fmt.Sprint("/plants/", p.id), "", 200, 404)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case status == 200:
		p.seen = true
	case status == 404 && acknowledged:
		l.staleNow()
	}
}

// staleNow counts a read that lacks an acknowledged write. The caller holds l.mu.
func (l *haLoad) staleNow() {
	now := time.Now()
	if l.row.stale == 0 {
		l.row.staleFrom = now
	}
	l.row.stale, l.row.staleTo = l.row.stale+1, now
}

// mustWrite waits until each server has acknowledged more writes.
func (l *haLoad) mustWrite() {
	l.t.Helper()
	began := time.Now()
	wait.Until(l.t, "both servers acknowledge writes", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.row.writes[0].last.After(began) && l.row.writes[1].last.After(began)
	})
}

// begin begins a row of the table.
func (l *haLoad) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := gap{last: time.Now()}
	l.row = haRow{responses: map[int]int{}, writes: [2]gap{now, now}, reads: [2]gap{now, now}}
}

const haHeader = "| fault | acknowledged | lost | doubled | stale reads | dirty reads | s without a write | s without a read | slowest response | responses |\n" +
	"|---|---|---|---|---|---|---|---|---|---|"

// end compares the store with what the clients know, and returns the row.
func (l *haLoad) end(name string) string {
	l.t.Helper()
	l.mu.Lock()
	want := map[int64]haPlant{}
	for id, p := range l.plants {
		want[id] = *p
	}
	l.mu.Unlock()
	stored := l.list()

	l.mu.Lock()
	defer l.mu.Unlock()
	for id, w := range want {
		p := l.plants[id]
		created, found := stored[id]
		count := func(n *int) {
			if !p.counted {
				p.counted = true
				*n++
			}
		}
		switch {
		case !w.acknowledged && w.seen && !found:
			count(&l.row.dirty)
		case w.acknowledged && !w.deletes && !found:
			count(&l.row.lost)
		case w.deleted && found, !w.deletes && found && !p.created.IsZero() && !p.created.Equal(created):
			count(&l.row.doubled)
		}
		if w.acknowledged && found && p.created.IsZero() {
			p.created = created
		}
	}
	r := l.row
	if r.lost > 0 || r.doubled > 0 {
		l.t.Errorf("%s: %d acknowledged plants lost, %d with two effects", name, r.lost, r.doubled)
	}
	now := time.Now()
	for i := range 2 {
		r.writes[i].success(now)
		r.reads[i].success(now)
	}
	longest := func(gaps [2]gap) float64 { return max(gaps[0].longest, gaps[1].longest).Seconds() }
	stale := fmt.Sprint(r.stale)
	if lasted := r.staleTo.Sub(r.staleFrom); r.stale > 0 {
		stale += fmt.Sprintf(" in %.1f s", lasted.Seconds())
		if lasted > 5*time.Second {
			l.t.Errorf("%s: reads lacked acknowledged writes for %v", name, lasted)
		}
	}
	var responses []string
	for _, status := range slices.Sorted(maps.Keys(r.responses)) {
		responses = append(responses, fmt.Sprint(r.responses[status], " × ", status))
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %s | %d | %.1f | %.1f | %.1f s | %s |", name, r.acknowledged, r.lost, r.doubled, stale, r.dirty,
		longest(r.writes), longest(r.reads), r.slowest.Seconds(), strings.Join(responses, ", "))
}

// list returns when each stored plant was created.
func (l *haLoad) list() map[int64]time.Time {
	l.t.Helper()
	stored := map[int64]time.Time{}
	for id, p := range listAll(l.t, l.servers[0].URL, program.Token) {
		stored[id] = p.CreatedAt
	}
	return stored
}
