package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/plantstore/plantstore/api/client"
)

const (
	// A batch holds at most as many plants as the document allows, and half of
	// the bytes that a service accepts by default.
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
	counts client.Created
}

// batch is a number of rows, and the refused rows between them.
type batch struct {
	number int // from 0
	rows   []Row
	size   int // of their JSON

	refused     []RowError
	refusedSize int // of their texts
}

// Run stores the plants of r, and returns how many are in the store. Its error is nil if every row was stored or
// refused. When ctx ends, it finishes the requests under way and returns the
// cause.
func (u *Upload) Run(ctx context.Context, r Reader) (client.Created, error) {
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
					if err != nil {
						err = fmt.Errorf("store the plants: %w", err)
					}
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
	var text []byte
	send := func() {
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
			text = AppendJSON(text[:0], row.Plant)
			if len(b.rows) > 0 && b.size+len(text) > maxBatchBytes {
				send()
			}
			b.rows, b.size = append(b.rows, row), b.size+len(text)+len(",")
		}
		if len(b.rows)+len(b.refused) == maxBatch || b.refusedSize > maxBatchBytes {
			send()
		}
	}
	return nil
}

// refuse records a refused row, with its text if keepText is true.
func (b *batch) refuse(bad RowError, keepText bool) {
	if !keepText {
		bad.text = ""
	}
	b.refused = append(b.refused, bad)
	b.refusedSize += len(bad.text)
}

// store stores the plants of a batch, or refuses their rows.
func (u *Upload) store(ctx context.Context, r Reader, b *batch) error {
	if len(b.rows) == 0 {
		return nil
	}
	return u.storeRows(ctx, b.rows, func(row Row, reason string) {
		bad := RowError{Line: row.Line, Reason: reason}
		if u.Rejects != nil {
			bad.text = r.textOf(row)
		}
		b.refuse(bad, true)
	})
}

// storeRows stores the plants of rows. If the service refuses a row, the others
// are stored without it.
func (u *Upload) storeRows(ctx context.Context, rows []Row, refuse func(row Row, reason string)) error {
	u.sent.Store(true)
	plants := make([]client.Plant, len(rows))
	for i, row := range rows {
		plants[i] = row.Plant
	}
	created, err := u.Service.client.CreateAll(ctx, plants)
	e := refusal(err)
	if e == nil {
		if err == nil {
			u.count(created)
		}
		return u.Service.end(err)
	}
	_ = u.Service.end(nil) // the service responds
	if len(rows) == 1 {
		refuse(rows[0], reason(rows[0], e))
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
		if err := u.storeRows(ctx, part, refuse); err != nil {
			return err
		}
	}
	return nil
}

func (u *Upload) count(created client.Created) {
	u.Stored(created.New + created.Existing + created.Unknown)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.counts.New += created.New
	u.counts.Existing += created.Existing
	u.counts.Unknown += created.Unknown
}

// refusal returns the error if the service, or a proxy, refuses a plant.
func refusal(err error) *client.Error {
	e, ok := errors.AsType[*client.Error](err)
	if ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge) {
		return e
	}
	return nil
}

// culprits separates the rows that an error points at from the others.
func culprits(rows []Row, e *client.Error) (good, bad []Row) {
	at := map[int]bool{}
	for _, d := range e.Details {
		var i int
		if _, err := fmt.Sscanf(d.Pointer, "/plants/%d/", &i); err == nil {
			at[i] = true
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
func reason(row Row, e *client.Error) string {
	switch e.Code {
	case client.ErrIDTaken:
		return fmt.Sprintf("another plant has the id %d", row.Plant.ID)
	case 0:
		return fmt.Sprintf("the service responded with %d %s", e.Status, http.StatusText(e.Status))
	}
	return e.Message
}
