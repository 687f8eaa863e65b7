//go:build unix

package system_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/store/open"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// A client walks through a store while others write, and while the changes from before the walk are
// forgotten. It does not begin again, and has all plants in the end. A client that has stopped before
// the walk begins again.
func TestWalk(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	m := &mortal{store: filepath.Join(t.TempDir(), "plants.db")}
	m.start(t)
	defer func() { m.kill() }()
	c := m.client(t)
	w := &writers{t: t, size: 6000, plants: map[int64]string{}}
	w.fill(c)
	old, err := c.Now(t.Context())
	must.NoError(t, err)
	w.write(c, 0)

	stopWriting := w.start(m)
	stopForgetting := forgetBefore(t, m.store, time.Now())
	ctx, stopFollowing := context.WithCancel(t.Context())
	walker := &follower{t: t, name: "walks"}
	walker.begin()
	var following sync.WaitGroup
	following.Go(func() { walker.run(ctx, m) })
	wait.Until(t, "the walk is complete", walker.hasWalked)
	stopForgetting()
	stopWriting()
	walker.wantCopy(t, listAll(t, m.r.URL, program.Token))
	walker.wantGone(t, 0)
	stopFollowing()
	following.Wait()
	for _, err := range c.ChangesUntilNow(t.Context(), old) {
		expect.Error(t, "the changes from before the walk were not forgotten", err, client.ErrPositionGone)
		break
	}
	t.Logf("figures: a walk of %d plants during %d writes", w.size, w.writes.Load())
}

// hasWalked reports whether the follower has left the walk, and follows changes.
func (f *follower) hasWalked() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.position == "" {
		return false
	}
	_, walks := positionNumbers(f.t, f.position)
	return !walks
}

// forgetBefore forgets the changes of a store from before a time, as each of its
// servers does, until the returned function is called.
func forgetBefore(t *testing.T, path string, before time.Time) (stop func()) {
	t.Helper()
	s, err := open.Open(t.Context(), path)
	must.NoError(t, err)
	forgetting := wait.Repeat(1, func(int) bool {
		expect.NoError(t, s.ForgetChanges(t.Context(), before))
		time.Sleep(50 * time.Millisecond)
		return true
	})
	return func() {
		forgetting()
		expect.NoError(t, s.Close())
	}
}
