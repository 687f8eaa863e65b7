package system_test

import (
	"fmt"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// nameOfClient is the name of the token of a client.
func nameOfClient(number int) string { return fmt.Sprint("client ", number) }

// kindOf is what a write does to a plant that exists.
var kindOf = map[string]any{"put": client.Replaced, "patch": client.Patched, "delete": client.Deleted}

// checkEntries compares the history of a plant with the operations of the clients in this round: each change that was
// acknowledged has one entry, by its client, and an entry is that of a write which may have happened. Read backwards, the
// history has each state that a client or a follower has seen.
func (h *histories) checkEntries(id int64) {
	h.t.Helper()
	states := map[string]version{} // by ETag
	after := h.final[id]
	if after.Exists {
		states[after.Plant.ETag] = after.Plant
	}
	deletes := map[string]int{} // by client
	for entry, err := range h.servers[0].Dial(h.t).History(h.t.Context(), id) {
		if err != nil && !after.Exists && len(states) == 0 {
			return // the plant was never there
		}
		must.NoError(h.t, err)
		h.entries++
		if entry.Change == client.Deleted {
			deletes[entry.ChangedBy]++
		} else if !after.Exists || after.Plant.By != entry.ChangedBy || !h.mayHaveMade(id, entry, after.Plant) {
			h.t.Errorf("after the change %+v plant %d is %+v", entry, id, after)
		}
		before := *versionOf(&entry.Plant)
		if _, found := states[before.ETag]; found {
			h.t.Errorf("the history of plant %d has the state %+v twice", id, before)
		}
		states[before.ETag] = before
		after = plantState{Exists: true, Plant: before}
	}
	acknowledged, unknown := map[string]int{}, map[string]int{}
	for _, o := range h.history {
		in, out := o.Input.(historyInput), o.Output.(historyOutput)
		switch {
		case in.ID != id:
		case in.Operation == "delete" && out.Outcome == succeeded:
			acknowledged[in.By]++
		case in.Operation == "delete" && out.Outcome == notKnown:
			unknown[in.By]++
		case out.Plant != (version{}) && states[out.Plant.ETag] != out.Plant:
			h.t.Errorf("a client has seen %+v, and the history of plant %d has %+v", out.Plant, id, states[out.Plant.ETag])
		}
	}
	for number := range historyClients {
		by := nameOfClient(number)
		if n := deletes[by]; n < acknowledged[by] || n > acknowledged[by]+unknown[by] {
			h.t.Errorf("%s has deleted plant %d %d times, and perhaps another %d times; the history has %d of it",
				by, id, acknowledged[by], unknown[by], n)
		}
	}
	for _, f := range h.followers {
		f.wantStates(h.t, id, states)
	}
}

// mayHaveMade reports whether a client has sent the write of an entry, which has stored a version.
func (h *histories) mayHaveMade(id int64, entry client.HistoryEntry, stored version) bool {
	for _, o := range h.history {
		in := o.Input.(historyInput)
		isIt := in.ID == id && in.By == entry.ChangedBy && kindOf[in.Operation] == any(entry.Change)
		hasTexts := (in.Name == stored.Name || in.Name == "") && (in.Tag == stored.Tag || in.Operation == "patch" && in.Tag == "")
		if isIt && hasTexts && mayWrite(o) {
			return true
		}
	}
	return false
}

// wantStates fails if the follower has seen a state of a plant that is none of these.
func (f *historyFollower) wantStates(t interface{ Errorf(string, ...any) }, id int64, states map[string]version) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, change := range f.changes {
		seen := versionOf(change.Plant)
		if change.ID == id && seen != nil && states[seen.ETag] != *seen {
			t.Errorf("the feed has %+v, and the history %+v", *seen, states[seen.ETag])
		}
	}
}
