package httpapi

import (
	"net/http"
	"time"
)

// A client must take this much of an answer in this time, 50 kB a second. The
// time-out of the server is for the whole of an answer, and far too long for a
// client that reads nothing while its answer stays in memory.
const (
	paceBytes = 256 << 10
	paceTime  = 5 * time.Second
)

// writePaced writes a part of an answer. If that is large, it fails as soon as
// the client is too slow; net/http then cuts the connection off.
func writePaced(w http.ResponseWriter, b []byte) (n int, err error) {
	if len(b) <= paceBytes {
		return w.Write(b)
	}
	deadline := http.NewResponseController(w)
	for len(b) > 0 {
		if err := deadline.SetWriteDeadline(time.Now().Add(paceTime)); err != nil {
			m, err := w.Write(b) // a writer of some test has no deadlines
			return n + m, err
		}
		m, err := w.Write(b[:min(len(b), paceBytes)])
		n += m
		if err != nil {
			return n, err
		}
		b = b[m:]
	}
	return n, nil
}
