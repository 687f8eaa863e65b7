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

	"github.com/plantstore/plantstore/gen/plantapi"
)

const (
	// A batch holds at most as many plants as the document allows, and half of
	// the bytes that a service takes by default; a larger plant goes alone.
	maxBatch      = 1000
	maxBatchBytes = 512 << 10

	// uploads is how many requests are under way at a time. More of them do
	// not make a service with one disk faster.
	uploads = 4
)

// Upload stores the plants of a file in a service.
type Upload struct {
	Service *Service
	Stored  func(plants int) // is told of plants that are stored now
	Refuse  func(RowError)   // is told of a row that is not stored
}

// batch is some rows and the request that stores them.
type batch struct {
	rows []Row
	body []byte
}

// Run stores what there is to read. It returns nil if every row was stored or
// refused. If ctx ends it finishes what is under way and returns the cause.
func (u *Upload) Run(ctx context.Context, r Reader) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	batches := make(chan batch)
	// Reading may hang, as from a terminal; nobody waits for it then.
	go func() {
		defer close(batches)
		if err := u.read(ctx, r, batches); err != nil {
			fail(fmt.Errorf("read: %w", err))
		}
	}()
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
					if err := u.store(ctx, b); err != nil {
						fail(err)
					}
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// read makes batches of what there is to read.
func (u *Upload) read(ctx context.Context, r Reader, batches chan<- batch) error {
	var b batch
	send := func() {
		select {
		case <-ctx.Done():
		case batches <- b.finished():
		}
		b = batch{}
	}
	for ctx.Err() == nil {
		row, err := r.Read()
		if bad, ok := errors.AsType[RowError](err); ok {
			u.Refuse(bad)
			continue
		}
		if err != nil {
			if len(b.rows) > 0 {
				send()
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
		b.add(row)
		if n := len(b.rows); n > 1 && len(b.body) > maxBatchBytes {
			// The last one was too much: it begins the next batch.
			last := b.rows[n-1]
			b = makeBatch(b.rows[:n-1])
			send()
			b.add(last)
		}
		if len(b.rows) == maxBatch {
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

func (b *batch) finished() batch { return batch{b.rows, append(b.body, batchEnd...)} }

func makeBatch(rows []Row) (b batch) {
	for _, row := range rows {
		b.add(row)
	}
	return b
}

// store stores the plants of a batch, each by itself if it must be: a row that
// the service refuses costs no other. A request whose answer was lost is sent
// again, which is safe.
func (u *Upload) store(ctx context.Context, b batch) error {
	if len(b.rows) == 1 {
		return u.storeOne(ctx, b.rows[0])
	}
	resp, err := u.Service.try(ctx, func(ctx context.Context) (*http.Response, error) {
		return u.Service.client.CreatePlantsWithBody(ctx, "application/json", bytes.NewReader(b.body))
	})
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		u.Stored(len(b.rows)) // what comes back is what was sent
		return nil
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge: // the latter from proxies
	default:
		return u.Service.explain(resp)
	}
	good, bad := culprits(b.rows, readError(resp))
	// A batch with one culprit may have more. In halves it takes no more than
	// two requests for each row, and few for few.
	for _, rows := range [][]Row{good[:len(good)/2], good[len(good)/2:]} {
		if len(rows) == 0 {
			continue
		}
		part := makeBatch(rows)
		if err := u.store(ctx, part.finished()); err != nil {
			return err
		}
	}
	// Last, so that of two rows with one id the first is stored.
	for _, row := range bad {
		if err := u.storeOne(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// storeOne stores a plant or refuses its row.
func (u *Upload) storeOne(ctx context.Context, row Row) error {
	body := AppendJSON(nil, row.Plant)
	resp, err := u.Service.try(ctx, func(ctx context.Context) (*http.Response, error) {
		return u.Service.client.CreatePlantWithBody(ctx, "application/json", bytes.NewReader(body))
	})
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		u.Stored(1)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		u.Refuse(RowError{Line: row.Line, Reason: reason(row, resp)})
	default:
		return u.Service.explain(resp)
	}
	return nil
}

// culprits parts the rows that an error points at from the others.
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

// reason says why the service does not take a plant.
func reason(row Row, resp *http.Response) string {
	e := readError(resp)
	switch {
	case e.Error == int32(plantapi.CodeIDTaken):
		return fmt.Sprintf("the id %d belongs to another plant", row.Plant.ID)
	case e.Message == "":
		return "the service answers " + resp.Status
	}
	return e.Message
}

// readError reads an Error; it is empty if the answer has none.
func readError(resp *http.Response) (e plantapi.Error) {
	body, _ := io.ReadAll(resp.Body) // it is in memory
	if json.Unmarshal(body, &e) != nil {
		return plantapi.Error{}
	}
	return e
}
