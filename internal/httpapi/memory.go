package httpapi

import (
	"net/http"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/plantstore/plantstore/internal/limit"
)

// memory bounds what requests hold. Clients set the pace at which a body comes and a response
// is read, so what is held meanwhile is in accounts. A request with a small body, such as an
// ordinary create, and a small response needs none of this.
type memory struct {
	bodies   *limit.Account      // those larger than small, as text and decoded, until the response is made
	unread   *limit.Account      // responses until they are read
	decoding *semaphore.Weighted // large bodies that are decoded, which takes several times their size
}

// accountSize is how many bytes each account has at least. The operator's manual has it.
const accountSize = 64 << 20

func newMemory(maxBody int64) memory {
	bytes := int(max(accountSize, 4*maxBody)) // so that a large --max-body works
	return memory{
		bodies:   limit.NewAccount(bytes, (*http.ResponseController).SetReadDeadline),
		unread:   limit.NewAccount(bytes, (*http.ResponseController).SetWriteDeadline),
		decoding: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
	}
}

// bodySize is at least what a request with a large body of so many bytes takes: the body, the
// texts of the decoded value, and its objects, of which a batch has 1,000.
func bodySize(length int) int {
	objects := min(30*length, 512<<10)
	return requestSize + 2*length + objects
}

// small is the size up to which a body or a response counts with its connection, for which
// net/http has buffers of this size.
const small = 4 << 10

// requestSize is about what a request takes beside its body and its response: a goroutine
// and buffers of its connection.
const requestSize = 32 << 10

// moment is how long a large body waits for memory before clients that send slowly are cut off.
const moment = 2 * time.Second

// readTime is how long a client may take to read a response, or a part of a stream.
const readTime = 30 * time.Second
