package limit

import (
	"net/http"
	"slices"
	"sync"
	"time"
	"unsafe"
)

// Account bounds the memory that requests hold while they wait for their clients: bodies until
// their response is made, and responses until they are read. When it is full, the
// clients of the key that holds most are cut off, the one that has waited longest first, so
// no key takes what others need. A fixed share for each key would be simpler, but then few
// keys could fill the account together, and a single one could not use it.
type Account struct {
	max         int
	setDeadline func(*http.ResponseController, time.Time) error

	mu    sync.Mutex
	bytes int
	held  []*Holding    // the oldest first
	texts map[*byte]int // how many of held share a text, which takes memory once
}

// NewAccount returns an account of the given number of bytes. To cut a client off, it sets a
// deadline in the past with setDeadline, which is for reads or for writes.
func NewAccount(bytes int, setDeadline func(*http.ResponseController, time.Time) error) *Account {
	return &Account{max: bytes, setDeadline: setDeadline, texts: map[*byte]int{}}
}

// Holding is what a request holds from [Account.Hold] until [Holding.Release]. Its fields must
// not be changed then. The zero Holding is nothing.
type Holding struct {
	Key    string // whose request it is
	Text   []byte
	Bytes  int                 // beside the text
	Client http.ResponseWriter // of the client that the request waits for; nil: none, it is not cut off

	account *Account
}

// Hold adds what a request holds if there is room for it, and reports whether there is. If
// cutOff is set, it makes room by cutting off clients that requests wait for.
func (a *Account) Hold(h *Holding, cutOff bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	bytes := h.Bytes + len(h.Text)
	for a.bytes+bytes > a.max {
		oldest := a.oldestOfLargest()
		if oldest == nil || !cutOff {
			return false
		}
		a.remove(oldest)
		_ = a.setDeadline(http.NewResponseController(oldest.Client), time.Unix(1, 0))
	}
	h.account = a
	a.held = append(a.held, h)
	a.bytes += h.Bytes
	if a.texts[h.start()]++; a.texts[h.start()] == 1 {
		a.bytes += len(h.Text)
	}
	return true
}

// start identifies the text. It is nil for an empty one.
func (h *Holding) start() *byte { return unsafe.SliceData(h.Text) }

// Keep says that the request does not wait for its client any more, so that it is not cut off
// from now on. It reports false if it was cut off already.
func (h *Holding) Keep() bool {
	h.account.mu.Lock()
	defer h.account.mu.Unlock()
	h.Client = nil
	return slices.Contains(h.account.held, h)
}

// Release returns what the request holds. Further calls do nothing.
func (h *Holding) Release() {
	a := h.account
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(h)
	*h = Holding{}
}

// oldestOfLargest returns the oldest holding of the key that holds most, or nil.
func (a *Account) oldestOfLargest() (oldest *Holding) {
	bytes, most := map[string]int{}, 0
	for _, h := range a.held {
		if h.Client != nil {
			bytes[h.Key] += h.Bytes + len(h.Text)/a.texts[h.start()]
			most = max(most, bytes[h.Key])
		}
	}
	for _, h := range a.held {
		if h.Client != nil && bytes[h.Key] == most {
			return h
		}
	}
	return nil
}

func (a *Account) remove(h *Holding) {
	i := slices.Index(a.held, h)
	if i < 0 {
		return
	}
	a.held = slices.Delete(a.held, i, i+1)
	a.bytes -= h.Bytes
	if a.texts[h.start()]--; a.texts[h.start()] == 0 {
		a.bytes -= len(h.Text)
		delete(a.texts, h.start())
	}
}
