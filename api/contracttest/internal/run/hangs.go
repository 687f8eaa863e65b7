package run

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A service that hangs costs a run most of its time, and one request that hangs may hold up all others: a lock that it keeps, a
// processor that a regular expression needs. So only the first one is accused, until its operation accepts a request again;
// another operation has to respond once before it can hang by itself. The values that hang are not sent again.

const (
	// DefaultTimeout is how long a service may take for one response.
	DefaultTimeout = 10 * time.Second
	// RequestTimeout is how long it may take where that may be right: a GET may be a long poll, which ends after a minute at most,
	// a DELETE may have much to delete, and of the first request of an operation nothing is known.
	RequestTimeout = time.Minute + 5*time.Second
	// silentTimeout is how long it may take after nothing has responded for so long. Hundreds of tests would wait otherwise.
	silentTimeout = time.Second
)

// leftOut is why a request is not sent.
const leftOut scenario.NotTested = "the service gave no response to a request with one of these values"

// hangs is how a service responds, as far as it matters to how long a request waits.
type hangs struct {
	mu sync.Mutex
	// The request that may hold up others, and its operation; empty: there is none.
	blocking, blocked string
	silence           time.Time // since when nothing responds; zero: it does
	operations        map[string]*responses
	notWaited         string // what has waited, and not to the end
}

// responses is how an operation responds.
type responses struct {
	responds bool          // at all
	accepts  bool          // a request
	slowest  time.Duration // of what it has accepted
	hasHung  bool
	isFree   bool            // it has responded since another operation hung
	known    map[uint64]bool // values in requests with a response
	hanging  map[uint64]bool // values that were only in requests without one
}

// of is how an operation responds. The lock is held.
func (h *hangs) of(operation string) *responses {
	if h.operations == nil {
		h.operations = map[string]*responses{}
	}
	if h.operations[operation] == nil {
		h.operations[operation] = &responses{known: map[uint64]bool{}, hanging: map[uint64]bool{}}
	}
	return h.operations[operation]
}

// within is how long a response may take. An operation that was slow before may be so again. It is an error if the request has a
// value that hangs.
func (h *hangs) within(operation string, request scenario.Request, timeout time.Duration) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.of(operation)
	if len(of.hanging) > 0 {
		for _, value := range valuesOf(request) {
			if of.hanging[value] {
				return 0, leftOut
			}
		}
	}
	isSilent := !h.silence.IsZero()
	isWrite := slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, request.Method)
	mayWait := !isWrite || !of.responds
	switch {
	case isSilent && time.Since(h.silence) > RequestTimeout:
		return silentTimeout, nil
	case isSilent, of.hasHung, !mayWait:
		return max(timeout, 2*of.slowest), nil
	}
	return max(timeout, 2*of.slowest, RequestTimeout), nil
}

// responded notes that there was a response.
func (h *hangs) responded(operation string, request scenario.Request, status int, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.of(operation)
	of.responds = true
	h.silence = time.Time{}
	for _, value := range valuesOf(request) {
		of.known[value] = true
		delete(of.hanging, value)
	}
	isAccepted := status < http.StatusBadRequest
	if isAccepted {
		of.accepts = true
		of.slowest = max(of.slowest, took)
	}
	if isAccepted && operation == h.blocked {
		h.blocking, h.blocked = "", ""
	}
	// What is refused may not have needed what others wait for.
	of.isFree = of.isFree || isAccepted || !of.accepts
}

// hung notes that there was no response, and returns why that accuses no one: something else may hold it up.
func (h *hangs) hung(operation string, request scenario.Request) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.of(operation)
	if h.silence.IsZero() {
		h.silence = time.Now()
	}
	if h.blocking != "" && !of.isFree {
		return scenario.NotTested("it may wait for what gave no response before: " + h.blocking)
	}
	h.blocking, h.blocked = request.Method+" "+request.Path, operation
	for _, other := range h.operations {
		other.isFree = false
	}
	of.hasHung = true
	for _, value := range valuesOf(request) {
		if !of.known[value] {
			of.hanging[value] = true
		}
	}
	return nil
}

// noteWait notes a response that was not waited for, unless a hang was found: it may be right to take so long, but there may be no
// other sign of a hang.
func (h *hangs) noteWait(request scenario.Request, waited time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if waited >= time.Second && h.blocking == "" {
		h.notWaited = fmt.Sprintf("%s %s for %v", request.Method, request.Path, waited)
	}
}

// NotWaitedFor says which response a run has not waited for to the end, if it has waited for more than a moment.
func (r *Runner) NotWaitedFor() string {
	r.hangs.mu.Lock()
	defer r.hangs.mu.Unlock()
	if r.hangs.notWaited == "" {
		return ""
	}
	return "there was no response to " + r.hangs.notWaited + ", and no time to wait longer"
}

// mostOfValues is the longest body that is looked into. A longer one is one value.
const mostOfValues = 64 << 10

// hashSeed makes values small, because a run keeps many of them.
var hashSeed = maphash.MakeSeed()

// valuesOf are what a request has: its path, parameters, and members of a body with their places.
func valuesOf(request scenario.Request) (values []uint64) {
	var add func(at string, value any)
	add = func(at string, value any) {
		isWhole := true
		jsonvalue.Map(value, func(name string, inner any) any {
			isWhole = false
			add(at+"/"+name, inner)
			return nil
		})
		if isWhole {
			values = append(values, maphash.String(hashSeed, fmt.Sprint(at, "=", value)))
		}
	}
	add("path", request.Path)
	for _, pair := range request.Query {
		add("query", pair)
	}
	add("body", string(request.Body))
	if len(request.Body) <= mostOfValues {
		body, _ := jsonvalue.DecodeLoosely(request.Body) // of another form it is one value
		add("body", body)
	}
	return values
}

// timeout is how long a response may usually take.
func (r *Runner) timeout() time.Duration { return cmp.Or(r.Timeout, DefaultTimeout) }
