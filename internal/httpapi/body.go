package httpapi

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/limit"
)

// bodies reads the bodies of requests and bounds the memory that they take. Clients set the pace at which a
// body comes, so what is held meanwhile is in an account. A request with a small body, such as an
// ordinary create, needs no account.
type bodies struct {
	max      int64               // bytes of a body
	account  *limit.Account      // of those larger than small, as text and decoded, until the response is made
	decoding *semaphore.Weighted // large bodies that are decoded, which takes several times their size
}

// accountSize is how many bytes each account has at least. The operator's manual has it.
const accountSize = 64 << 20

// bytesFor returns the size of an account, so that a large --max-body works.
func bytesFor(maxBody int64) int { return int(max(accountSize, 4*maxBody)) }

func newBodies(maxBody int64) *bodies {
	return &bodies{
		max:      maxBody,
		account:  limit.NewAccount(bytesFor(maxBody), (*http.ResponseController).SetReadDeadline),
		decoding: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
	}
}

const (
	// small is the size up to which a body or a response counts with its connection, for which
	// net/http has buffers of this size.
	small = 4 << 10

	// requestSize is about what a request takes beside its body and its response: a goroutine
	// and buffers of its connection.
	requestSize = 32 << 10

	// moment is how long a large body waits for memory before clients that send slowly are cut off.
	moment = 2 * time.Second
)

// heldSize is at least what a request with a large body of so many bytes takes: the body, the
// texts of the decoded value, and its objects, of which a batch has 1,000.
func heldSize(length int) int {
	objects := min(30*length, 512<<10)
	return requestSize + 2*length + objects
}

// heldBody is the text of a body, and what it holds of the account, which is nothing for a small one.
type heldBody struct {
	from io.LimitedReader // the body as it comes
	text bytes.Buffer
	held limit.Holding
}

// heldBodies are used again. New ones would cost 10 % of the CPU of the handler for each create.
var heldBodies = sync.Pool{New: func() any { return new(heldBody) }}

// release returns the body to the pool. It must not be used after that.
func (b *heldBody) release() {
	if b == nil {
		return
	}
	b.from = io.LimitedReader{}
	b.text.Reset()
	if b.text.Cap() > 2*small {
		b.text = bytes.Buffer{}
	}
	b.held.Release()
	heldBodies.Put(b)
}

// read implements [contract.Options.ReadBody]. A body that is larger than the limit by its Content-Length
// is refused before it is read.
func (b *bodies) read(w http.ResponseWriter, r *http.Request) (text []byte, checked func(), err error) {
	if r.ContentLength > b.max {
		w.Header().Set("Connection", "close") // so that the rest need not be read
		return nil, nil, contract.BodyTooLarge(b.max)
	}
	body := heldBodies.Get().(*heldBody)
	scopeOf(r.Context()).body = body
	body.from = io.LimitedReader{R: r.Body, N: small + 1}
	_, err = body.text.ReadFrom(&body.from)
	switch {
	case body.text.Len() > small:
		checked, err = b.readLarge(w, r, body)
	case err != nil:
		err = contract.BodyIncomplete()
	}
	if int64(body.text.Len()) > b.max {
		err = contract.BodyTooLarge(b.max)
	}
	return body.text.Bytes(), checked, err
}

// readLarge reads the rest of a large body, and waits until few others are decoded. All the memory that it can
// need is reserved at once.
func (b *bodies) readLarge(w http.ResponseWriter, r *http.Request, body *heldBody) (checked func(), err error) {
	largest := b.max
	if r.ContentLength > 0 {
		largest = r.ContentLength
	}
	body.held = limit.Holding{Key: scopeOf(r.Context()).token, Bytes: heldSize(int(largest)), Client: w}
	body.from.N = b.max - small // after small+1 bytes: one more than the limit shows that the body is too large
	if !b.reserve(&body.held) {
		_, _ = io.Copy(io.Discard, &body.from) // or the client may be disconnected before it reads the 503
		return nil, fmt.Errorf("%w: large bodies take all their memory", limit.ErrFull)
	}
	body.text.Grow(int(largest) + bytes.MinRead) // or ReadFrom grows it to twice as much
	_, err = body.text.ReadFrom(&body.from)
	if !body.held.Keep() {
		return nil, fmt.Errorf("%w: the client sent its body slowly, and others needed the memory", limit.ErrFull)
	}
	if err != nil {
		return nil, contract.BodyIncomplete()
	}
	if err := b.decoding.Acquire(r.Context(), 1); err != nil {
		return nil, err
	}
	return func() { b.decoding.Release(1) }, nil
}

// reserve reserves the memory of a large body. For a moment it only waits: many bodies may come at the
// same time, and then the clients that hold the memory are not slow. After that it cuts such clients off.
func (b *bodies) reserve(held *limit.Holding) bool {
	for end := time.Now().Add(moment); time.Now().Before(end); time.Sleep(moment / 100) {
		if b.account.Hold(held, false) {
			return true
		}
	}
	return b.account.Hold(held, true)
}
