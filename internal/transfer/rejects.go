package transfer

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// rejectOrder passes on refused rows in the order of the file, although batches
// end in any order.
type rejectOrder struct {
	refuse func(RowError)
	reader Reader
	out    io.Writer // nil: none

	mu    sync.Mutex
	ended map[int]*batch // by number; they wait for an earlier batch
	next  int            // number of the next batch
	begun bool           // out has the header
}

// add takes a finished batch.
func (o *rejectOrder) add(b *batch) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended == nil {
		o.ended = map[int]*batch{}
	}
	b.rows = nil // save memory: the batch may wait for long
	o.ended[b.number] = b
	for {
		b := o.ended[o.next]
		if b == nil {
			return nil
		}
		delete(o.ended, o.next)
		o.next++
		if err := o.flush(b); err != nil {
			return err
		}
	}
}

// flush passes on the refused rows of a batch.
func (o *rejectOrder) flush(b *batch) error {
	slices.SortStableFunc(b.refused, func(a, b RowError) int { return cmp.Compare(a.Line, b.Line) })
	var text []byte
	for _, bad := range b.refused {
		o.refuse(bad)
		if o.out != nil {
			text = o.reader.appendReject(text, bad)
		}
	}
	return o.write(text)
}

func (o *rejectOrder) write(text []byte) error {
	if o.out == nil || len(text) == 0 {
		return nil
	}
	if !o.begun {
		o.begun = true
		text = append([]byte(o.reader.rejectHeader()), text...)
	}
	if _, err := o.out.Write(text); err != nil {
		return fmt.Errorf("write the refused rows: %w", err)
	}
	return nil
}

// end passes on the rows of the batches that still wait. If the whole file was
// read and no row was refused, it writes the header alone.
func (o *rejectOrder) end(complete bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(o.ended)) {
		if err := o.flush(o.ended[number]); err != nil {
			return err
		}
	}
	if o.out == nil || o.begun || !complete {
		return nil
	}
	_, err := io.WriteString(o.out, o.reader.rejectHeader())
	return err
}
