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
	// A batch holds at most as many plants as the document allows. It ends with the row
	// with which it has half of the bytes that a service accepts by default.
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
	Update  bool             // makes plants that are stored already equal to their rows
	DryRun  bool             // stores nothing, and counts what an update would do
	Change  func(RowChange)  // is called with each row that a dry run would update, in the order of the file
	Updated int              // by Run

	requests chan struct{}  // limits the concurrent requests
	created  client.Created // by the batches that were reported
	rows     int            // that they have sent
	begun    bool           // Rejects has its header
}

// rowBatch is a number of rows, and the refused rows between them.
type rowBatch struct {
	rows    []Row
	refused []RowError
	size    int // of the texts or of the JSON of the rows, whichever is larger

	isLast  bool
	err     error // ended the reading after these rows
	created client.Created
	updated int
	changes []RowChange // of a dry run
}

// Run stores the plants of reader, and returns how many are in the store. Its error is nil
// if every row was stored or refused. When ctx ends, it finishes the requests under way
// and returns the cause.
func (u *Upload) Run(ctx context.Context, reader *Reader) (client.Created, error) {
	u.requests = make(chan struct{}, uploads)
	u.Rejects = cmp.Or(u.Rejects, io.Discard)
	workers, working := errgroup.WithContext(ctx)
	workers.SetLimit(maxWaiting)
	earlier := make(chan struct{}) // is closed when the batch before has been reported
	close(earlier)
	for isLast := false; !isLast; {
		next := readOrStop(working, reader)
		isLast = next.isLast
		before, reported := earlier, make(chan struct{})
		workers.Go(func() error {
			defer close(reported)
			err := u.store(working, next)
			<-before
			return errors.Join(err, u.report(reader, next))
		})
		earlier = reported
	}
	err := workers.Wait()
	err = cmp.Or(context.Cause(ctx), err)
	if err == nil && u.rows == 0 {
		err = u.Service.check(ctx)
	}
	return u.created, err
}

// readOrStop returns the next batch, or the last one when ctx ends. Reading may block for
// ever, as from a terminal, so then nothing waits for it.
func readOrStop(ctx context.Context, reader *Reader) *rowBatch {
	read := make(chan *rowBatch, 1)
	go func() { read <- readBatch(reader) }()
	select {
	case <-ctx.Done():
		return &rowBatch{isLast: true, err: context.Cause(ctx)}
	case next := <-read:
		return next
	}
}

// readBatch reads rows until they fill a batch.
func readBatch(reader *Reader) *rowBatch {
	batch := &rowBatch{}
	for !batch.isFull() {
		row, err := reader.Read()
		if bad, isRefused := errors.AsType[RowError](err); isRefused {
			batch.refused = append(batch.refused, bad)
			batch.size += len(bad.text)
			continue
		}
		if err == io.EOF {
			batch.isLast = true
			return batch
		}
		if err != nil {
			batch.isLast, batch.err = true, fmt.Errorf("read: %w", err)
			return batch
		}
		batch.rows = append(batch.rows, row)
		batch.size += max(len(appendJSON(nil, &row.Plant))+len(","), len(row.text))
	}
	return batch
}

func (batch *rowBatch) isFull() bool {
	return len(batch.rows)+len(batch.refused) >= maxBatch || batch.size >= maxBatchBytes
}

// store stores the plants of a batch, or refuses their rows.
func (u *Upload) store(ctx context.Context, batch *rowBatch) error {
	if len(batch.rows) == 0 {
		return batch.err
	}
	u.requests <- struct{}{}
	defer func() { <-u.requests }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rows := batch.rows
	if u.Update {
		var err error
		if rows, err = u.updateEach(ctx, batch); err != nil {
			return fmt.Errorf("update the plants: %w", err)
		}
	}
	if len(rows) == 0 {
		return batch.err
	}
	if err := u.storeRows(ctx, batch, rows); err != nil {
		return fmt.Errorf("store the plants: %w", err)
	}
	return batch.err
}

// report reports the outcome of a batch. It is called for one batch after the other.
func (u *Upload) report(reader *Reader, batch *rowBatch) error {
	u.rows += len(batch.rows)
	add(&u.created, batch.created)
	u.Updated += batch.updated
	for _, change := range batch.changes {
		u.Change(change)
	}
	slices.SortStableFunc(batch.refused, func(one, other RowError) int { return cmp.Compare(one.Line, other.Line) })
	var text []byte
	for _, refused := range batch.refused {
		u.Refuse(refused)
		text = reader.appendReject(text, refused)
	}
	if batch.err != nil && len(text) == 0 { // there may be no header
		return nil
	}
	if !u.begun {
		u.begun = true
		text = append([]byte(reader.rejectHeader()), text...)
	}
	if _, err := u.Rejects.Write(text); err != nil {
		return fmt.Errorf("write the refused rows: %w", err)
	}
	return nil
}

// storeRows stores the plants of rows. If the service refuses a row, the others
// are stored without it.
func (u *Upload) storeRows(ctx context.Context, batch *rowBatch, rows []Row) error {
	plants := make([]client.Plant, len(rows))
	for i, row := range rows {
		plants[i] = row.Plant
	}
	created, err := u.Service.client.CreateBatch(ctx, plants)
	response := responseIn(err)
	if isRefusal(response) {
		_ = u.Service.end(nil) // the service responds
		return u.storeWithoutCulprits(ctx, batch, rows, response)
	}
	if err == nil {
		u.Stored(created.New + created.Existing + created.Unknown)
		add(&batch.created, created)
	}
	return u.Service.end(err)
}

// isRefusal reports whether the service, or the limit of a proxy, refuses a plant. A server that wants https:// also
// responds with 400, to everything.
func isRefusal(response client.Error) bool {
	isOfService := response.Status == http.StatusBadRequest && response.Code != 0
	return isOfService || response.Status == http.StatusRequestEntityTooLarge
}

// storeWithoutCulprits stores what it can of rows of which the service has refused at least
// one.
func (u *Upload) storeWithoutCulprits(ctx context.Context, batch *rowBatch, rows []Row, refusal client.Error) error {
	if len(rows) == 1 && u.Update && refusal.Code == client.ErrIDTaken {
		return u.update(ctx, batch, rows[0])
	}
	if len(rows) == 1 {
		batch.refused = append(batch.refused, RowError{Line: rows[0].Line, Reason: reason(rows[0], refusal), text: rows[0].text})
		return nil
	}
	good, bad := culprits(rows, refusal)
	// The error may not name every invalid row, so the others are sent in
	// halves: at most two requests for each row, and few if few rows are
	// invalid.
	half := max((len(good)+1)/2, 1)
	parts := slices.Collect(slices.Chunk(good, half))
	// Invalid rows come last, so that of two rows with one id the first is stored.
	parts = slices.AppendSeq(parts, slices.Chunk(bad, 1))
	for _, part := range parts {
		if err := u.storeRows(ctx, batch, part); err != nil {
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

// culprits separates the rows that an error points at from the others.
func culprits(rows []Row, refusal client.Error) (good, bad []Row) {
	for i, row := range rows {
		isNamed := slices.ContainsFunc(refusal.Details, func(detail client.Detail) bool { return detail.Index == i })
		if isNamed {
			bad = append(bad, row)
		} else {
			good = append(good, row)
		}
	}
	return good, bad
}

// reason says why the service refuses a plant.
func reason(row Row, refusal client.Error) string {
	switch refusal.Code {
	case client.ErrIDTaken:
		return fmt.Sprintf("another plant has the id %d", row.Plant.ID)
	case 0:
		return fmt.Sprintf("the service responded with %d %s", refusal.Status, http.StatusText(refusal.Status))
	}
	return refusal.Message
}
