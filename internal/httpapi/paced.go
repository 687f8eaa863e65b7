package httpapi

import (
	"net/http"
	"slices"
	"time"
)

// A client must read a large response at 50 kB a second on average: after paceGrace
// + n/paceRate the first n bytes must be written, or the connection is cut off. A
// deadline for each single write would be wrong, because the buffers of a connection
// empty in bursts of megabytes.
const (
	paceRate  = 50_000 // bytes a second
	paceGrace = 10 * time.Second

	// smallResponse is the largest response to which the write time-out of the
	// server applies instead. Larger ones are written in parts of this size.
	smallResponse = 256 << 10
)

// writePaced writes a whole large response. It fails as soon as the client is too
// slow; net/http then cuts the connection off.
func (rec *responseRecorder) writePaced(b []byte) (n int, err error) {
	w := rec.ResponseWriter
	began, deadline := time.Now(), http.NewResponseController(w)
	for part := range slices.Chunk(b, smallResponse) {
		within := paceGrace + time.Duration(n+len(part))*time.Second/paceRate
		_ = deadline.SetWriteDeadline(began.Add(within)) // the writers of some tests have no deadline
		m, err := w.Write(part)
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
