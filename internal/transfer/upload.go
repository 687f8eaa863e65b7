package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"

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

	// maxWaiting is the number of batches in memory: the batches after a slow one are
	// stored, and wait until it has been reported.
	maxWaiting = 2 * uploads
)

// Upload stores the plants of a file in a service.
type Upload struct {
	Service *Service
	Stored  func(plants int) // is called with the number of plants that were stored
	Refuse  func(RowError)   // is called with each refused row, in the order of the file
	Rejects io.Writer        // receives the refused rows as a file that can be imported; may be nil

	requests chan struct{}  // limits the concurrent requests
	created  client.Created // by the batches that were reported
	sent     bool           // one of them sent a request
	begun    bool           // Rejects has its header
}

// batch is a number of rows, and the refused rows between them.
type batch struct {
	rows []Row
	size int // of their texts or of their JSON, whichever is larger

	refused     []RowError
	refusedSize int // of their texts

	err     error // ended the reading after these rows
	created client.Created
}

// Run stores the plants of r, and returns how many are in the store. Its error is nil
// if every row was stored or refused. When ctx ends, it finishes the requests under way
// and returns the cause.
func (u *Upload) Run(ctx context.Context, r Reader) (client.Created, error) {
	u.requests = make(chan struct{}, uploads)
	workers, working := errgroup.WithContext(ctx)
	workers.SetLimit(maxWaiting)
	batches := make(chan *batch)
	// Reading may block for ever, as from a terminal, so nothing waits for it.
	go u.read(working, r, batches)
	var earlier chan struct{} // is closed when the batch before has been reported
	for {
		var b *batch
		select {
		case <-working.Done():
		case b = <-batches: // nil after the last one
		}
		if b == nil {
			break
		}
		before, reported := earlier, make(chan struct{})
		workers.Go(func() error {
			defer close(reported)
			err := u.store(working, b)
			if before != nil {
				<-before
			}
			return errors.Join(err, u.report(r, b))
		})
		earlier = reported
	}
	err := workers.Wait()
	err = cmp.Or(context.Cause(ctx), err)
	if err == nil && !u.sent {
		err = u.Service.check(ctx)
	}
	return u.created, err
}

// read reads r and sends its rows in batches.
func (u *Upload) read(ctx context.Context, r Reader, batches chan<- *batch) {
	defer close(batches)
	b := &batch{}
	var text []byte
	send := func() {
		select {
		case <-ctx.Done():
		case batches <- b:
		}
		b = &batch{}
	}
	for ctx.Err() == nil {
		row, err := r.Read()
		bad, refused := errors.AsType[RowError](err)
		switch {
		case refused:
			b.refuse(bad)
		case err != nil:
			if err != io.EOF {
				b.err = fmt.Errorf("read: %w", err)
			}
			send()
			return
		default:
			text = appendJSON(text[:0], &row.Plant)
			size := max(len(text)+len(","), len(row.text))
			if len(b.rows) > 0 && b.size+size > maxBatchBytes {
				send()
			}
			b.rows, b.size = append(b.rows, row), b.size+size
		}
		if len(b.rows)+len(b.refused) == maxBatch || b.refusedSize > maxBatchBytes {
			send()
		}
	}
}

// refuse records a refused row.
func (b *batch) refuse(bad RowError) {
	b.refused = append(b.refused, bad)
	b.refusedSize += len(bad.text)
}

// store stores the plants of a batch, or refuses their rows.
func (u *Upload) store(ctx context.Context, b *batch) error {
	if len(b.rows) == 0 {
		return b.err
	}
	u.requests <- struct{}{}
	defer func() { <-u.requests }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := u.storeRows(ctx, b, b.rows); err != nil {
		return fmt.Errorf("store the plants: %w", err)
	}
	return b.err
}

// report reports the outcome of a batch. It is called for one batch after the other.
func (u *Upload) report(r Reader, b *batch) error {
	u.sent = u.sent || len(b.rows) > 0
	add(&u.created, b.created)
	slices.SortStableFunc(b.refused, func(a, b RowError) int { return cmp.Compare(a.Line, b.Line) })
	var text []byte
	for _, bad := range b.refused {
		u.Refuse(bad)
		text = r.appendReject(text, bad)
	}
	if u.Rejects == nil || b.err != nil && len(text) == 0 {
		return nil
	}
	if !u.begun {
		u.begun = true
		text = append([]byte(r.rejectHeader()), text...)
	}
	if _, err := u.Rejects.Write(text); err != nil {
		return fmt.Errorf("write the refused rows: %w", err)
	}
	return nil
}

// storeRows stores the plants of rows. If the service refuses a row, the others
// are stored without it.
func (u *Upload) storeRows(ctx context.Context, b *batch, rows []Row) error {
	plants := make([]client.Plant, len(rows))
	for i, row := range rows {
		plants[i] = row.Plant
	}
	created, err := u.Service.client.CreateBatch(ctx, plants)
	e := refusal(err)
	if e == nil {
		if err == nil {
			u.Stored(created.New + created.Existing + created.Unknown)
			add(&b.created, created)
		}
		return u.Service.end(err)
	}
	_ = u.Service.end(nil) // the service responds
	if len(rows) == 1 {
		b.refuse(RowError{rows[0].Line, reason(rows[0], e), rows[0].text})
		return nil
	}
	good, bad := culprits(rows, e)
	// The error may not name every invalid row, so the others are sent in
	// halves: at most two requests for each row, and few if few rows are
	// invalid.
	parts := [][]Row{good[:len(good)/2], good[len(good)/2:]}
	// Invalid rows come last, so that of two rows with one id the first is stored.
	parts = slices.AppendSeq(parts, slices.Chunk(bad, 1))
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		if err := u.storeRows(ctx, b, part); err != nil {
			return err
		}
	}
	return nil
}

func add(sum *client.Created, created client.Created) {
	sum.New += created.New
	sum.Existing += created.Existing
	sum.Unknown += created.Unknown
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
		at[d.Index] = true
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
