package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/store"
)

// changes is a transaction of writes. It takes two round trips: the first reads and
// locks the plants, the second stores what has become of them. In between, the writes
// are decided.
type changes struct {
	sharded bool // see citus.go
	writes  []*write
	errs    []error // of writes
	changed []int64 // IDs of the plants that the transaction changes
}

func (c *changes) run(ctx context.Context, conn *pgx.Conn, id int64) error {
	var ids []int64
	for _, w := range c.writes {
		ids = append(ids, w.IDs...)
	}
	group := store.NewGroup(ids)
	if err := c.read(ctx, conn, group); err != nil {
		return err
	}
	for _, w := range c.writes {
		c.errs = append(c.errs, group.Decide(w.Change))
	}
	if !slices.Contains(c.errs, nil) {
		_, err := conn.Exec(ctx, `ROLLBACK`)
		return err
	}
	err := c.write(ctx, conn, group, id)
	if code(err) == uniqueViolation {
		return fmt.Errorf("%w: %w", errAgain, err) // another program has created one of the plants
	}
	return err
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
func (c *changes) write(ctx context.Context, conn *pgx.Conn, group *store.Group, id int64) error {
	var all store.Effect
	all, c.changed = group.Effect()
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
