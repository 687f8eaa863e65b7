package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/plantstore/plantstore/internal/store"
)

// changes is a transaction of writes. It takes two round trips: the first reads and
// locks the plants, the second stores what has become of them. In between, the writes
// are decided.
//
// If all writes create plants, they are first decided as if none of the plants were
// stored, and then one round trip stores the plants if that is so. Over a network with
// 1 ms a client that creates one plant after the other is nearly twice as fast.
type changes struct {
	sharded bool // see citus.go
	writes  []*write
	errs    []error // of writes
	changed []int64 // IDs of the plants that the transaction changes
}

func (c *changes) run(ctx context.Context, conn *pgx.Conn, id int64) error {
	err := errStored
	if !c.sharded && !slices.ContainsFunc(c.writes, func(w *write) bool { return !w.New }) {
		err = c.create(ctx, conn, id)
	}
	if err == errStored {
		err = c.change(ctx, conn, id)
	}
	if code(err) == uniqueViolation {
		return fmt.Errorf("%w: %w", errAgain, err) // another program has created one of the plants
	}
	return err
}

// group returns the group of all writes.
func (c *changes) group() *store.Group {
	var ids []int64
	for _, w := range c.writes {
		ids = append(ids, w.IDs...)
	}
	return store.NewGroup(ids)
}

// decide decides the writes, and returns what becomes of the plants.
func (c *changes) decide(group *store.Group) (all store.Effect) {
	c.errs = nil
	for _, w := range c.writes {
		c.errs = append(c.errs, group.Decide(w.Change))
	}
	all, c.changed = group.Effect()
	return all
}

// errStored means that the plants were not created, because one of them is stored.
var errStored = errors.New("one of the plants is stored")

// create runs the transaction as if none of the plants were stored.
func (c *changes) create(ctx context.Context, conn *pgx.Conn, id int64) error {
	group := c.group()
	all := c.decide(group)
	var created int64
	var b pgx.Batch
	b.Queue(beginWrite)
	b.Queue(createPlants, plantColumns.args(all.Insert, group.IDs(), id, time.Now().UnixMicro())...).Exec(func(tag pgconn.CommandTag) error {
		created = tag.RowsAffected()
		return nil
	})
	b.Queue(storeCreated, c.changed, id)
	b.Queue(`COMMIT`)
	err := conn.SendBatch(ctx, &b).Close()
	if err == nil && created == 0 {
		return errStored
	}
	return err
}

// change reads and locks the plants, decides the writes, and stores their effect.
func (c *changes) change(ctx context.Context, conn *pgx.Conn, id int64) error {
	group := c.group()
	if err := c.read(ctx, conn, group); err != nil {
		return err
	}
	all := c.decide(group)
	if !slices.Contains(c.errs, nil) {
		_, err := conn.Exec(ctx, `ROLLBACK`)
		return err
	}
	return c.write(ctx, conn, all, id)
}

// read begins the transaction, and locks and reads the plants.
func (c *changes) read(ctx context.Context, conn *pgx.Conn, group *store.Group) error {
	stored := func(rows pgx.Rows) error {
		plants, err := scanPlants(rows)
		for _, p := range plants {
			group.Found(p)
		}
		return err
	}
	if c.sharded {
		return lockSharded(ctx, conn, group.IDs(), stored)
	}
	var b pgx.Batch
	b.Queue(beginWrite)
	b.Queue(lockPlants, group.IDs()).Query(stored)
	return conn.SendBatch(ctx, &b).Close()
}

// write stores what has become of the plants, and commits.
func (c *changes) write(ctx context.Context, conn *pgx.Conn, all store.Effect, id int64) error {
	now := time.Now().UnixMicro()
	var b pgx.Batch
	if c.sharded {
		writeSharded(&b, all)
	} else {
		writeAll(&b, all)
	}
	if len(c.changed) > 0 && !c.sharded {
		b.Queue(markAndLock, id, now)
		b.Queue(storeChanges, c.changed, now)
	} else {
		b.Queue(mark, id, now, !c.sharded)
	}
	b.Queue(`COMMIT`)
	return conn.SendBatch(ctx, &b).Close()
}

// writeAll queues the statements that write plants.
func writeAll(b *pgx.Batch, all store.Effect) {
	if len(all.Remove) > 0 {
		b.Queue(`DELETE FROM plants WHERE id = ANY($1)`, all.Remove)
	}
	if len(all.Update) > 0 {
		b.Queue(updatePlants, plantColumns.args(all.Update)...)
	}
	if len(all.Insert) > 0 {
		b.Queue(insertPlants, plantColumns.args(all.Insert)...)
	}
}

// end ends the writes once the transaction is committed.
func (c *changes) end(s *Store) {
	if len(c.changed) > 0 {
		s.committed.Send()
	}
	for i, w := range c.writes {
		w.end(c.errs[i])
	}
}
