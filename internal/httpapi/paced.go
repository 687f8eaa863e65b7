package httpapi

import (
	"net/http"
	"slices"
	"time"
)

// A client must read a large response at 50 kB a second on average: the first n
// bytes are written at paceGrace + n/paceRate, or the connection is cut off. How
// long a single write takes says nothing about the pace, because the buffers of a
// connection empty in bursts of megabytes.
const (
	paceRate  = 50_000 // bytes a second
	paceGrace = 10 * time.Second

	// smallResponse is the largest response that has the time-out of the server
	// instead, and the size of the parts in which larger ones are written.
	smallResponse = 256 << 10
)

// writePaced writes a whole response. If that is large, it fails as soon as the
// client is too slow; net/http then cuts the connection off.
func writePaced(w http.ResponseWriter, b []byte) (n int, err error) {
	if len(b) <= smallResponse {
		return w.Write(b)
	}
	began, deadline := time.Now(), http.NewResponseController(w)
	for part := range slices.Chunk(b, smallResponse) {
		within := paceGrace + time.Duration(n+len(part))*time.Second/paceRate
		_ = deadline.SetWriteDeadline(began.Add(within)) // some writers of tests have none
		m, err := w.Write(part)
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
