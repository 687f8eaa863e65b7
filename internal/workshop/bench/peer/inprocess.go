package peer

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"syscall"
	"time"
)

// InProcess is the cost of a create without a network. The request and the writer
// are reused and the plants are already in the map, so it is the cost of the
// handler alone.
type InProcess struct {
	Nanoseconds float64 `json:"ns"` // of CPU, garbage collection included
	Allocations float64 `json:"allocations"`
}

// measureInProcess sends creates to a handler until it has used this much CPU.
func measureInProcess(handler http.Handler, d time.Duration) InProcess {
	const ids = 100_000
	request := newSameRequest()
	send := func(i int) {
		request.send(handler, 1_000_000_000+i%ids)
	}
	for i := range 2 * ids {
		send(i)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, n := cpuTime(), 0
	for ; n%1000 != 0 || cpuTime()-start < d; n++ {
		send(n)
	}
	elapsed := cpuTime() - start
	runtime.ReadMemStats(&after)
	return InProcess{
		Nanoseconds: float64(elapsed.Nanoseconds()) / float64(n),
		Allocations: float64(after.Mallocs-before.Mallocs) / float64(n),
	}
}

// cpuTime is the user and system time of this process. Unlike a clock, it does not
// advance while another program has the core.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // not on Linux
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// sameRequest is a create that is repeated with another id each time. It is its own
// body, and the writer of its response.
type sameRequest struct {
	bytes.Reader
	text   []byte
	digits []byte // of the id, in text
	r      *http.Request
	header http.Header
	status int
}

func newSameRequest() *sameRequest {
	s := &sameRequest{header: http.Header{}}
	s.text = fmt.Appendf(nil, CreateBody, 1_000_000_000)
	at := bytes.Index(s.text, []byte("1000000000"))
	s.digits = s.text[at : at+10]
	s.r = httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/plants", nil)
	s.r.Header.Set("Authorization", "Bearer "+Token)
	s.r.Header.Set("Content-Type", "application/json")
	s.r.ContentLength = int64(len(s.text))
	return s
}

// CreateBody is the body of a create; the id has ten digits.
const CreateBody = `{"id":%d,"name":"Ficus lyrata","tag":"Moraceae"}`

func (s *sameRequest) send(handler http.Handler, id int) {
	for i := len(s.digits) - 1; i >= 0; i-- {
		s.digits[i] = byte('0' + id%10)
		id /= 10
	}
	s.Reset(s.text)
	s.r.Body = s
	clear(s.header)
	s.status = http.StatusOK
	if handler.ServeHTTP(s, s.r); s.status != http.StatusOK {
		panic(fmt.Sprint("a create got the status ", s.status))
	}
}

func (s *sameRequest) Close() error { return nil }

func (s *sameRequest) Header() http.Header         { return s.header }
func (s *sameRequest) Write(b []byte) (int, error) { return len(b), nil }
func (s *sameRequest) WriteHeader(status int)      { s.status = status }
