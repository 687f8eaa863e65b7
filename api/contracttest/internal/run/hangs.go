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

// within is how long a response may take: the timeout, or twice as long as the slowest response of the operation; and a minute
// where that may be right (see RequestTimeout), if the operation has not hung before. An error means that the request has a value
// that hangs, and is not sent.
func (h *hangs) within(operation string, request scenario.Request, timeout time.Duration) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.of(operation)
	isHanging := func(value uint64) bool { return of.hanging[value] }
	if len(of.hanging) > 0 && slices.ContainsFunc(valuesOf(request), isHanging) { // to find the values of a request takes long
		return 0, leftOut
	}
	isSilent := !h.silence.IsZero()
	isWrite := slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, request.Method)
	isKnownWrite := isWrite && of.responds
	usual := max(timeout, 2*of.slowest)
	switch {
	case isSilent && time.Since(h.silence) > RequestTimeout:
		return silentTimeout, nil
	case isSilent, of.hasHung, isKnownWrite:
		return usual, nil
	}
	return max(usual, RequestTimeout), nil
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
	if status >= http.StatusBadRequest {
		// What is refused may not have needed what others wait for. Where nothing else is known, it counts all the same.
		of.isFree = of.isFree || !of.accepts
		return
	}
	of.accepts = true
	of.slowest = max(of.slowest, took)
	of.isFree = true
	if operation == h.blocked {
		h.blocking, h.blocked = "", ""
	}
}

// hung notes that there was no response. It returns an error if that does not accuse the operation, because an earlier request may
// hold up this one. Otherwise this is the one that may hold up others.
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

// valuesOf are the values of a request with their places, as hashes: of its path, each parameter, the body as a whole, and each
// value in it that has no others below.
//
//	POST /books?a=1 {"tags":["x"]}  path=/books, query=a=1, body={"tags":["x"]}, body/tags/=x
func valuesOf(request scenario.Request) (values []uint64) {
	values = append(values, hashOf("path", request.Path), hashOf("body", string(request.Body)))
	for _, pair := range request.Query {
		values = append(values, hashOf("query", pair))
	}
	if len(request.Body) > mostOfValues {
		return values
	}
	body, _ := jsonvalue.DecodeLoosely(request.Body) // nil, if it is not JSON
	return appendValues(values, "body", body)
}

// appendValues appends the values in a part of a body, at any depth.
func appendValues(values []uint64, at string, part any) []uint64 {
	before := len(values)
	jsonvalue.Map(part, func(name string, inner any) any {
		values = appendValues(values, at+"/"+name, inner)
		return inner
	})
	if len(values) == before { // nothing is below it
		values = append(values, hashOf(at, part))
	}
	return values
}

// hashOf is a value with its place.
func hashOf(at string, value any) uint64 { return maphash.String(hashSeed, fmt.Sprint(at, "=", value)) }

// timeout is how long a response may usually take.
func (r *Runner) timeout() time.Duration { return cmp.Or(r.Timeout, DefaultTimeout) }
