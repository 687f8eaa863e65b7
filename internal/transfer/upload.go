package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/plantstore/plantstore/gen/plantapi"
)

const (
	// A batch holds at most as many plants as the document allows, and half of
	// the bytes that a service accepts by default. A larger plant is sent
	// alone.
	maxBatch      = 1000
	maxBatchBytes = 512 << 10

	// uploads is the number of concurrent requests. More of them do not make a
	// service with one disk faster.
	uploads = 4
)

// Upload stores the plants of a file in a service.
type Upload struct {
	Service *Service
	Stored  func(plants int) // is called with the number of plants that were stored
	Refuse  func(RowError)   // is called with each refused row, in the order of the file
	Rejects io.Writer        // receives the refused rows as a file that can be imported; may be nil

	sent  atomic.Bool // a request was sent
	order rejectOrder

	mu     sync.Mutex
	counts Counts
}

// Counts counts the plants of an upload that are in the store now.
type Counts struct {
	New      int // stored by this upload
	Existing int // stored before
	Either   int // new or existing: the response that says which was lost
}

// batch is a number of rows, the body of the request that stores them, and the
// refused rows between them.
type batch struct {
	number int // from 0
	rows   []Row
	body   []byte

	refused     []RowError
	refusedSize int // of their texts
}

// Run stores the plants of r. Its error is nil if every row was stored or
// refused. When ctx ends, it finishes the requests under way and returns the
// cause.
func (u *Upload) Run(ctx context.Context, r Reader) (Counts, error) {
	err := u.run(ctx, r)
	return u.counts, err
}

func (u *Upload) run(ctx context.Context, r Reader) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	batches := make(chan *batch)
	// Reading may block for ever, as from a terminal, so nothing waits for it.
	go func() {
		defer close(batches)
		if err := u.read(ctx, r, batches); err != nil {
			fail(fmt.Errorf("read: %w", err))
		}
	}()
	u.order = rejectOrder{refuse: u.Refuse, reader: r, out: u.Rejects}
	var workers sync.WaitGroup
	for range uploads {
		workers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case b, more := <-batches:
					if !more {
						return
					}
					err := u.store(ctx, r, b)
					if err = errors.Join(err, u.order.add(b)); err != nil {
						fail(err)
					}
				}
			}
		})
	}
	workers.Wait()
	err := context.Cause(ctx)
	if err == nil && !u.sent.Load() {
		err = u.Service.check(ctx)
	}
	return errors.Join(err, u.order.end(err == nil))
}

// read reads r and sends its rows in batches.
func (u *Upload) read(ctx context.Context, r Reader, batches chan<- *batch) error {
	b := &batch{}
	send := func() {
		if len(b.rows) > 0 {
			b.body = append(b.body, batchEnd...)
		}
		select {
		case <-ctx.Done():
		case batches <- b:
		}
		b = &batch{number: b.number + 1}
	}
	for ctx.Err() == nil {
		row, err := r.Read()
		bad, refused := errors.AsType[RowError](err)
		switch {
		case refused:
			b.refuse(bad, u.Rejects != nil)
		case err != nil:
			send()
			if err == io.EOF {
				return nil
			}
			return err
		default:
			before := len(b.body)
			b.add(row)
			if n := len(b.rows); n > 1 && len(b.body) > maxBatchBytes {
				// The last row is too much: it begins the next batch.
				b.rows, b.body = b.rows[:n-1], b.body[:before]
				send()
				b.add(row)
			}
		}
		if len(b.rows)+len(b.refused) == maxBatch || b.refusedSize > maxBatchBytes {
			send()
		}
	}
	return nil
}

const batchBegin, batchEnd = `{"plants":[`, `]}`

// add appends a row.
func (b *batch) add(row Row) {
	if len(b.rows) == 0 {
		b.body = append(b.body, batchBegin...)
	} else {
		b.body = append(b.body, ',')
	}
	b.body = AppendJSON(b.body, row.Plant)
	b.rows = append(b.rows, row)
}

// refuse records a refused row, with its text if keepText is true.
func (b *batch) refuse(bad RowError, keepText bool) {
	if !keepText {
		bad.text = ""
	}
	b.refused = append(b.refused, bad)
	b.refusedSize += len(bad.text)
}

// bodyOf returns the body of the request that stores rows.
func bodyOf(rows []Row) []byte {
	var b batch
	for _, row := range rows {
		b.add(row)
	}
	return append(b.body, batchEnd...)
}

// store stores the plants of a batch, or refuses their rows.
func (u *Upload) store(ctx context.Context, r Reader, b *batch) error {
	if len(b.rows) == 0 {
		return nil
	}
	return u.storeRows(ctx, b.rows, b.body, func(row Row, reason string) {
		bad := RowError{Line: row.Line, Reason: reason}
		if u.Rejects != nil {
			bad.text = r.textOf(row)
		}
		b.refuse(bad, true)
	})
}

// storeRows stores the plants of rows. If the service refuses a row, the others
// are stored without it. A request whose response was lost is repeated, which
// is safe.
func (u *Upload) storeRows(ctx context.Context, rows []Row, body []byte, refuse func(row Row, reason string)) error {
	u.sent.Store(true)
	resp, lost, err := u.Service.try(ctx, func(ctx context.Context) (*http.Response, error) {
		return u.Service.client.CreatePlantsWithBody(ctx, "application/json", bytes.NewReader(body))
	})
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		u.count(len(rows), createdIn(resp), lost)
		return nil
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge: // the latter from proxies
	default:
		return u.Service.explain(resp)
	}
	e := readError(resp)
	if len(rows) == 1 {
		if e.Error == int32(plantapi.CodeBodyTooLarge) || resp.StatusCode == http.StatusRequestEntityTooLarge {
			return u.storeLarge(ctx, rows[0], refuse)
		}
		refuse(rows[0], reason(rows[0], e, resp))
		return nil
	}
	good, bad := culprits(rows, e)
	// The error may not name every invalid row, so the others are sent in
	// halves: at most two requests for each row, and few if few rows are
	// invalid.
	parts := [][]Row{good[:len(good)/2], good[len(good)/2:]}
	// Invalid rows come last, so that of two rows with one id the first is stored.
	for i := range bad {
		parts = append(parts, bad[i:i+1])
	}
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		if err := u.storeRows(ctx, part, bodyOf(part), refuse); err != nil {
			return err
		}
	}
	return nil
}

// storeLarge stores a plant that is too large even for a batch of one. It may
// fit into a request without the array around it.
func (u *Upload) storeLarge(ctx context.Context, row Row, refuse func(row Row, reason string)) error {
	resp, _, err := u.Service.try(ctx, func(ctx context.Context) (*http.Response, error) {
		return u.Service.client.CreatePlantWithBody(ctx, "application/json", bytes.NewReader(AppendJSON(nil, row.Plant)))
	})
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		u.count(1, nil, false)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		refuse(row, reason(row, readError(resp), resp))
	default:
		return u.Service.explain(resp)
	}
	return nil
}

// createdIn returns how many plants a request created according to its
// response, or nil if the response does not say, as with an older service.
func createdIn(resp *http.Response) *int {
	var body struct {
		Created *int `json:"created"`
	}
	_ = json.NewDecoder(resp.Body).Decode(&body) // it is in memory
	return body.Created
}

// count adds to the counts. If an earlier response was lost, the earlier
// request may have created the plants that this one did not.
func (u *Upload) count(plants int, created *int, lost bool) {
	u.Stored(plants)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case created == nil:
		u.counts.Either += plants
	case lost:
		u.counts.New += *created
		u.counts.Either += plants - *created
	default:
		u.counts.New += *created
		u.counts.Existing += plants - *created
	}
}

// culprits separates the rows that an error points at from the others.
func culprits(rows []Row, e plantapi.Error) (good, bad []Row) {
	at := map[int]bool{}
	if e.Details != nil {
		for _, d := range *e.Details {
			var i int
			if _, err := fmt.Sscanf(d.Pointer, "/plants/%d/", &i); err == nil {
				at[i] = true
			}
		}
	}
	for i, row := range rows {
		if at[i] {
			bad = append(bad, row)
		} else {
			good = append(good, row)
		}
	}
	return good, bad
}

// reason says why the service refuses a plant.
func reason(row Row, e plantapi.Error, resp *http.Response) string {
	switch {
	case e.Error == int32(plantapi.CodeIDTaken):
		return fmt.Sprintf("another plant has the id %d", row.Plant.ID)
	case e.Message == "":
		return "the service responded with " + resp.Status
	}
	return e.Message
}

// readError reads an Error; it is empty if the response has none.
func readError(resp *http.Response) (e plantapi.Error) {
	body, _ := io.ReadAll(resp.Body) // it is in memory
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if json.Unmarshal(body, &e) != nil {
		return plantapi.Error{}
	}
	return e
}
