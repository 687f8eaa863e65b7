package system_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// historyFollower follows the changes of a server.
type historyFollower struct {
	server *program.Server

	mu       sync.Mutex
	position client.Position
	changes  []client.Change
	plants   map[int64]*version
}

// follow reads the changes, page by page or as a stream, until ctx ends. A server may respond 503
// during a fault, but never that the position is not valid. A stream that hangs is found by the test,
// which waits for the changes.
func (f *historyFollower) follow(ctx context.Context, t *testing.T, stream bool) {
	c := f.server.Dial(t)
	web := &http.Client{} // without a timeout
	for ctx.Err() == nil {
		var err error
		if stream {
			err = readStream(ctx, web, f.server, f.position, f.add)
		} else {
			err = f.readPages(ctx, c)
		}
		if isUnavailable(err) {
			time.Sleep(50 * time.Millisecond)
		} else if err != nil && ctx.Err() == nil {
			t.Errorf("a follower: %v", err)
			return
		}
	}
}

func isUnavailable(err error) bool {
	failure, isResponse := errors.AsType[*client.Error](err)
	return isResponse && failure.Status == http.StatusServiceUnavailable
}

func (f *historyFollower) readPages(ctx context.Context, c *client.Client) error {
	for change, err := range c.Changes(ctx, f.position) {
		if err != nil {
			return err
		}
		f.add(change)
	}
	return nil
}

func (f *historyFollower) add(change client.Change) (again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.position = change.Position
	f.changes = append(f.changes, change)
	if f.plants == nil {
		f.plants = map[int64]*version{}
	}
	f.plants[change.ID] = versionOf(change.Plant)
	return true
}

// versionOf returns what a client compares of a plant, or nil.
func versionOf(p *client.Plant) *version {
	if p == nil {
		return nil
	}
	v := &version{Name: p.Name, ETag: string(p.ETag), By: p.ChangedBy}
	if p.Tag != nil {
		v.Tag = *p.Tag
	}
	return v
}

// has reports whether the follower has the last state of plants.
func (f *historyFollower) has(ids []int64, final map[int64]plantState) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		want := final[id]
		have := f.plants[id]
		if want.Exists != (have != nil) || have != nil && *have != want.Plant {
			return false
		}
	}
	return true
}

// checkFeeds compares the changes that the followers have read with each other and with the
// operations of the clients.
func (h *histories) checkFeeds() {
	h.stop()
	first := h.followers[0].changes
	for _, f := range h.followers {
		if len(f.changes) != len(first) {
			h.t.Errorf("a follower has %d changes, and another one %d", len(first), len(f.changes))
		}
		for i, c := range f.changes[:min(len(first), len(f.changes))] {
			if c.ID != first[i].ID { // a position also says how far its page reached
				h.t.Errorf("change %d is %+v for a follower, and %+v for another one", i, first[i], c)
				break
			}
		}
		seen := map[client.Position]bool{}
		for _, c := range f.changes {
			if seen[c.Position] {
				h.t.Errorf("a follower has the position %s twice", c.Position)
			}
			seen[c.Position] = true
		}
	}
	for id := range h.final {
		var writes []porcupine.Operation
		for _, o := range h.all {
			if o.Input.(historyInput).ID == id && mayWrite(o) {
				writes = append(writes, o)
			}
		}
		for _, f := range h.followers {
			h.checkFeed(id, writes, f)
		}
	}
	h.checkETags()
}

// mayWrite reports whether an operation has changed a plant, or may have.
func mayWrite(o porcupine.Operation) bool {
	outcome := o.Output.(historyOutput).Outcome
	return o.Input.(historyInput).Operation != "get" && (outcome == succeeded || outcome == notKnown)
}

// checkFeed checks the changes of one plant. There are at most as many as writes that may have
// happened, and at least as many as acknowledged writes of which each was sent after the response
// to the one before: writes at the same time may share a transaction, and so a change. A plant that
// is created and deleted in one transaction leaves none. A state never comes after that of a write
// which was sent after its end.
func (h *histories) checkFeed(id int64, writes []porcupine.Operation, f *historyFollower) {
	var changes []client.Change
	for _, c := range f.changes {
		if c.ID == id {
			changes = append(changes, c)
		}
	}
	inOrder, end := 0, int64(-1)
	for _, o := range slices.SortedFunc(slices.Values(writes), func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) }) {
		if o.Call > end && leavesChange(writes, o) {
			inOrder, end = inOrder+1, o.Return
		}
	}
	if len(changes) < inOrder || len(changes) > len(writes) {
		h.t.Errorf("the feed has %d changes of plant %d, want %d to %d", len(changes), id, inOrder, len(writes))
	}
	latest := int64(-1) // when the newest write so far was sent
	for _, c := range changes {
		seen := versionOf(c.Plant)
		if seen == nil {
			continue
		}
		for _, o := range writes {
			in := o.Input.(historyInput)
			if in.Name != seen.Name || in.Operation == "patch" && in.Tag != "" {
				continue
			}
			if o.Return < latest && !patchedLater(writes, seen) {
				h.t.Errorf("the feed has %+v after a later write", *seen)
			}
			latest = max(latest, o.Call)
		}
	}
}

// leavesChange reports whether a write certainly leaves a change: it was acknowledged, and shares
// its time with no delete or, if it is one, with no other write.
func leavesChange(writes []porcupine.Operation, write porcupine.Operation) bool {
	deletes := func(o porcupine.Operation) bool { return o.Input.(historyInput).Operation == "delete" }
	for _, o := range writes {
		sameTime := o.Call <= write.Return && write.Call <= o.Return
		if o != write && sameTime && (deletes(o) || deletes(write)) {
			return false
		}
	}
	return write.Return != never
}

// patchedLater reports whether a version has a tag of a patch, so that its name is older than it.
func patchedLater(writes []porcupine.Operation, v *version) bool {
	for _, o := range writes {
		in := o.Input.(historyInput)
		if in.Operation == "patch" && in.Tag != "" && in.Tag == v.Tag {
			return true
		}
	}
	return false
}

// checkETags checks that no ETag is used twice: each belongs to one version of one plant, and each
// acknowledged write has one of its own.
func (h *histories) checkETags() {
	type key struct {
		id   int64
		etag string
	}
	versions, written := map[key]version{}, map[key]bool{}
	note := func(id int64, v version) {
		k := key{id: id, etag: v.ETag}
		if before, found := versions[k]; found && before != v {
			h.t.Errorf("plant %d has one etag for %+v and %+v", id, before, v)
		}
		versions[k] = v
	}
	for _, o := range h.all {
		in, out := o.Input.(historyInput), o.Output.(historyOutput)
		if out.Plant == (version{}) {
			continue
		}
		note(in.ID, out.Plant)
		k := key{id: in.ID, etag: out.Plant.ETag}
		if in.Operation != "get" && written[k] {
			h.t.Errorf("two writes of plant %d have the etag %s", in.ID, k.etag)
		}
		written[k] = written[k] || in.Operation != "get"
	}
	for _, f := range h.followers {
		for _, c := range f.changes {
			if v := versionOf(c.Plant); v != nil {
				note(c.ID, *v)
			}
		}
	}
}

func (h *histories) figures() {
	outcomes := map[outcome]int{}
	for _, o := range h.all {
		outcomes[o.Output.(historyOutput).Outcome]++
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(h.faults)) {
		faults = append(faults, fmt.Sprint(h.faults[name], " × ", name))
	}
	h.t.Logf("figures: %d operations in %d histories (%d not decided), %v; %d entries in the histories of plants; %s; a success %v after the primary was killed; %d changes for each of %d followers; %v",
		len(h.all), historyRounds*historyPlants, h.undecided, outcomes, h.entries, strings.Join(faults, ", "), h.outages,
		len(h.followers[0].changes), len(h.followers), time.Since(h.began).Round(time.Second))
}
