package transfer

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// A batch with many bad rows takes a few requests for each bad row at most, and stores every
// other row. No request is larger than a service accepts, for any plants. Refused rows are
// reported and written in the order of the file, also if the first response comes late.
func TestBatches(t *testing.T) {
	for name, test := range map[string]struct{ rows, length, every, missing, requests int }{
		"one bad row in a thousand": {rows: 1000, length: 5, every: 1000, requests: 4},
		"one in ten":                {rows: 1000, length: 5, every: 10, requests: 500},
		"all":                       {rows: 200, length: 5, every: 1, requests: 400},
		"small plants":              {rows: 2500, length: 10, requests: 3},
		"large plants":              {rows: 3000, length: 1000, requests: 12},
		"some without an id":        {rows: 3000, length: 5, every: 250, missing: 100, requests: 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := clienttest.New(t)
			plantName := strings.Repeat("é", test.length)
			var file, rejects strings.Builder
			file.WriteString("id,name\n")
			rejects.WriteString("line,reason,id,name\n")
			taken, bad := 0, 0
			for id := 1; id <= test.rows; id++ {
				row, reason := fmt.Sprintf("%d,%s\n", id, plantName), ""
				switch {
				case test.every > 0 && id%test.every == 0:
					must.NoError(t, server.Client().Create(t.Context(), client.Plant{ID: int64(id), Name: "another"}))
					taken++
					reason = fmt.Sprintf("another plant has the id %d", id)
				case test.missing > 0 && id%test.every == test.missing:
					row, reason = ","+plantName+"\n", "id is missing"
				}
				file.WriteString(row)
				if reason != "" {
					bad++
					fmt.Fprintf(&rejects, "%d,%s,%s", id+1, reason, row)
				}
			}

			service, err := NewService(server.URL, server.Token)
			must.NoError(t, err)
			var sent, requests, ended atomic.Int64
			others := make(chan struct{})
			service.transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.ContentLength < 0 || r.ContentLength > 1<<20 {
					t.Errorf("a request has a body of %d bytes", r.ContentLength)
				}
				if sent.Add(1) == 1 && test.missing > 0 {
					select {
					case <-others:
					case <-time.After(wait.Limit):
						t.Error("there are no other responses while the first request waits")
					}
				}
				resp, err := http.DefaultTransport.RoundTrip(r)
				if err == nil && resp.StatusCode < http.StatusInternalServerError { // others are sent again
					requests.Add(1)
				}
				if ended.Add(1) == 10 {
					close(others)
				}
				return resp, err
			})
			var refused []int
			var written strings.Builder
			u := Upload{
				Service: service, Stored: func(int) {}, Rejects: &written,
				Refuse: func(row RowError) { refused = append(refused, row.Line) },
			}
			counts, err := u.Run(t.Context(), NewReader(strings.NewReader(file.String()), CSV))
			if want := (client.Created{New: test.rows - bad}); counts != want || err != nil {
				t.Errorf("Run = %+v, %v, want %+v", counts, err, want)
			}
			if len(refused) != bad || !slices.IsSorted(refused) {
				t.Errorf("the refused rows are %d, want %d in order", refused, bad)
			}
			if diff := cmp.Diff(rejects.String(), written.String()); diff != "" {
				t.Errorf("the file of refused rows (-want +got):\n%.2000s", diff)
			}
			if stored, _, err := server.Client().Count(t.Context()); stored != test.rows-bad+taken || err != nil {
				t.Errorf("%d plants are stored, %v, want %d", stored, err, test.rows-bad+taken)
			}
			if n := requests.Load(); n > int64(test.requests) {
				t.Errorf("%d requests, want at most %d", n, test.requests)
			}
		})
	}
}
