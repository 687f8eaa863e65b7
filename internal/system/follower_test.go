package system_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// follower is a client that applies the changes of a service to a copy of its plants.
type follower struct {
	t      *testing.T
	name   string
	stream bool          // read GET /changes:stream instead of using client.Changes
	most   int           // disconnect after so many changes, and resume; 0: never
	pause  time.Duration // then
	again  *atomic.Bool  // if it is true then, begin again after every fifth time; nil: never

	gone atomic.Int64 // how often its position was not valid any more

	mu       sync.Mutex
	position client.Position // after the last change; empty: from the beginning
	copy     map[int64]client.Plant
	names    map[int64]int // the highest one of each plant
	begun    int           // how often it began
	got      int           // changes
}

// begin drops the copy and the position.
func (f *follower) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position, f.copy, f.names = "", map[int64]client.Plant{}, map[int64]int{}
	f.begun++
}

// run follows the service until ctx ends.
func (f *follower) run(ctx context.Context, m *mortal) {
	connect := func() error { return f.readStream(ctx, m.httpClient()) }
	if !f.stream {
		c := m.client(f.t)
		connect = func() error { return f.readChanges(ctx, c) }
	}
	for n := 1; ctx.Err() == nil; n++ {
		err := connect()
		switch {
		case errors.Is(err, client.ErrPositionGone):
			f.begin()
			f.gone.Add(1)
		case err != nil && ctx.Err() == nil:
			f.t.Errorf("a client that %s: %v", f.name, err)
			return
		case f.again != nil && f.again.Load() && n%5 == 0:
			f.begin()
		}
		time.Sleep(f.pause)
	}
}

// readChanges applies changes of the Go client.
func (f *follower) readChanges(ctx context.Context, c *client.Client) error {
	n := 0
	for change, err := range c.Changes(ctx, f.position) {
		if err != nil {
			return err
		}
		f.apply(change)
		if n++; n == f.most {
			return nil
		}
	}
	return nil
}

// readStream applies the events of a stream until it is cut off.
func (f *follower) readStream(ctx context.Context, web *http.Client) error {
	defer web.CloseIdleConnections()
	n := 0
	err := readStream(ctx, web, &program.Server{URL: crashURL, Token: program.Token}, f.position, func(change client.Change) (again bool) {
		f.apply(change)
		n++
		return n != f.most
	})
	if _, isConnection := errors.AsType[*url.Error](err); isConnection { // the service does not run
		time.Sleep(5 * time.Millisecond)
		return nil
	}
	return err
}

// readStream reads a stream of changes after a position until it is cut off, or until apply returns
// false. Another response than 200 and 410 is a [client.Error].
func readStream(
	ctx context.Context, web *http.Client, r *program.Server, after client.Position, apply func(client.Change) (again bool),
) error {
	req, err := r.NewRequest(http.MethodGet, "/changes:stream", "")
	if err != nil {
		return err
	}
	if after != "" {
		req.Header.Set("Last-Event-ID", string(after))
	}
	resp, err := web.Do(req.WithContext(ctx))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusGone:
		return client.ErrPositionGone
	default:
		return &client.Error{Status: resp.StatusCode}
	}
	id, data := "", ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if id == "" { // a comment, or an event that is not a change
				continue
			}
			change, err := changeOf(id, data)
			if err != nil {
				return err
			}
			if !apply(change) {
				return nil
			}
			id = ""
		}
	}
	return nil
}

// changeOf returns the change of an event.
func changeOf(id, data string) (client.Change, error) {
	var c plantapi.Change
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return client.Change{}, err
	}
	if c.Position != id {
		return client.Change{}, errors.New("the event with the id " + id + " has the position " + c.Position)
	}
	change := client.Change{Position: client.Position(id), ID: c.ID}
	if c.ChangedBy != nil {
		change.ChangedBy = *c.ChangedBy
	}
	if p := c.Plant; p != nil {
		change.Plant = &client.Plant{ID: p.ID, Name: p.Name, Tag: p.Tag, ETag: client.ETag(p.ETag), CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, ChangedBy: change.ChangedBy}
	}
	return change, nil
}

// apply applies a change, which must not be older than one of the same plant before it. A position that is not that
// of its change shows when a client goes on after it: changes come again, or are missing in the copy.
func (f *follower) apply(c client.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position = c.Position
	f.got++
	if c.Plant == nil {
		delete(f.copy, c.ID)
		return
	}
	name, err := strconv.Atoi(c.Plant.Name)
	expect.NoError(f.t, err)
	if name < f.names[c.ID] {
		f.t.Errorf("a client that %s: plant %d has the name %d after %d", f.name, c.ID, name, f.names[c.ID])
	}
	f.copy[c.ID], f.names[c.ID] = *c.Plant, name
}

// wantCopy waits until the copy is equal to the plants of the service.
func (f *follower) wantCopy(t *testing.T, want map[int64]client.Plant) {
	t.Helper()
	equal := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return maps.EqualFunc(f.copy, want, func(p, q client.Plant) bool {
			return p.Name == q.Name && p.ETag == q.ETag && p.CreatedAt.Equal(q.CreatedAt) && p.UpdatedAt.Equal(q.UpdatedAt)
		})
	}
	for end := time.Now().Add(wait.Limit); !equal(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) || t.Failed() {
			f.mu.Lock()
			defer f.mu.Unlock()
			t.Fatalf("the copy of a client that %s is not equal to the list (-list +copy):\n%.2000s", f.name, cmp.Diff(want, f.copy))
		}
	}
}

// wantGone fails unless the position was not valid for the given number of times.
func (f *follower) wantGone(t *testing.T, want int64) {
	t.Helper()
	if got := f.gone.Load(); got != want {
		t.Errorf("the position of a client that %s was not valid %d times, want %d", f.name, got, want)
	}
}
