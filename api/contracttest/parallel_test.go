package contracttest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// meeting is a service whose requests wait for each other.
type meeting struct {
	next http.Handler

	mu            sync.Mutex
	present, most int
	met           chan struct{} // closed when two requests are present
	isPaired      bool          // requests begin two by two, as the race detector needs it
}

func (m *meeting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.enter(r)
	defer m.leave()
	select {
	case <-m.met:
	case <-time.After(patience):
	}
	m.next.ServeHTTP(w, r)
}

func (m *meeting) enter(r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.present++
	_, m.isPaired = r.Context().Value(http.ServerContextKey).(*http.Server).Handler.(*pairs)
	if m.present == 2 && m.most == 1 {
		close(m.met)
	}
	m.most = max(m.most, m.present)
}

func (m *meeting) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.present--
}

// patience is how long a request waits for another one. It ends early where requests meet.
const patience = 20 * time.Millisecond

// Tests run one after the other, or several at a time if the options want it.
func TestParallel(t *testing.T) {
	t.Parallel()
	for parallel, want := range map[int]bool{0: false, 2: true} {
		m := &meeting{next: thingsHandler(asNumber), met: make(chan struct{})}
		Test(&told{}, []byte(smallDocument), m, Options{Parallel: parallel})
		if meets := m.most > 1; meets != want || m.isPaired != want || m.most > max(parallel, 1) {
			t.Errorf("with Parallel %d, %d requests were there at once, in pairs: %v", parallel, m.most, m.isPaired)
		}
	}
}

// Right services are accused of nothing by tests that run at the same time, and wrong ones of the same as before.
func TestParallelAccusations(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	causes := func(parallel int, flaw string, habits ...string) []string {
		c := workshopContract(t, Options{Parallel: parallel})
		report := ran(t, c, inProcess{newWorkshop(c, flaw, habits...)})
		return causeTexts(report.Causes)
	}
	for _, habit := range habits {
		if wrong := causes(8, "", habit...); len(wrong) > 0 {
			t.Errorf("%q is accused of %q", habit, wrong)
		}
	}
	for _, flaw := range []string{"the kind is ignored", "PUT merges"} {
		together, alone := causes(8, flaw), causes(0, flaw)
		if !slices.Equal(together, alone) {
			t.Errorf("%q is %q, and one after the other %q", flaw, together, alone)
		}
	}
}

// Only ends a run also where several tests are under way.
func TestParallelOnly(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	whole := workshopContract(t, Options{})
	target := Target{URL: "http://service.invalid", Transport: inProcess{newWorkshop(whole, "PUT merges")}}
	all, err := whole.Run(t.Context(), target)
	must.NoError(t, err)
	c := workshopContract(t, Options{Parallel: 4, Only: all.Causes[0].ID})
	report, err := c.Run(t.Context(), target)
	must.NoError(t, err)
	isEnd := func(p Promise) bool { return strings.Contains(p.Why, onlyFound) }
	if len(report.Causes) != 1 || !slices.ContainsFunc(report.Promises, isEnd) {
		t.Errorf("the report is %+v with %v", report.Count, report.Causes)
	}
}
