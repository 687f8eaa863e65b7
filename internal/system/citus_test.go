//go:build linux

package system_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/plantstore/plantstore/internal/store/postgres"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// TestCitus runs two servers on PostgreSQL with Citus and kills its nodes, while
// clients write and read. It prints a table. No acknowledged write may be lost, none
// may have an effect twice, and every batch must be stored as a whole or not at all.
func TestCitus(t *testing.T) {
	only := os.Getenv("PLANTSTORE_TEST_CITUS_DRILL") // a regular expression of the names of faults
	if only == "" {
		t.Skip("needs Citus: .ci/drill test-citus")
	}
	const rounds = 5 // of each fault
	c := newCluster(t, "citus")
	c.up()
	must.NoError(t, postgres.Distribute(t.Context(), c.url))
	l := startHALoad(t, [2]string{c.url, c.url})
	b := startBatches(l)
	header := strings.Split(haHeader, "\n")
	fmt.Println(header[0] + " batches | torn |\n" + header[1] + "---|---|")
	for _, fault := range []struct {
		name  string
		nodes []string
	}{
		{"a worker killed", []string{"n1"}},
		{"the coordinator killed", []string{"n0"}},
		{"both workers killed", []string{"n1", "n2"}},
		{"every node killed", []string{"n0", "n1", "n2"}},
	} {
		if !regexp.MustCompile(only).MatchString(fault.name) {
			continue
		}
		l.begin()
		for range rounds {
			for _, node := range fault.nodes {
				c.run("kill", node)
			}
			time.Sleep(time.Second)
			for _, node := range fault.nodes {
				c.run("start", node)
			}
			l.mustWrite()
			time.Sleep(time.Second + rand.N(time.Second)) // so that clients write
		}
		ended := b.ended()
		c.recovered()
		fmt.Println(l.end(fmt.Sprintf("%s, %d times", fault.name, rounds)) + b.end(ended))
	}
}

// recovered waits until the nodes have completed every transaction that was prepared
// before.
func (c *cluster) recovered() {
	c.t.Helper()
	began := time.Now()
	wait.Until(c.t, "the transactions of before are completed", func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), wait.Limit)
		defer cancel()
		conn, err := pgx.Connect(ctx, c.url)
		if err != nil {
			return false
		}
		defer conn.Close(ctx)
		var left string
		age := fmt.Sprintf("%d milliseconds", time.Since(began).Milliseconds())
		err = conn.QueryRow(ctx, `SELECT coalesce(string_agg(result, ''), '') FROM run_command_on_workers(
			'SELECT count(*) FROM pg_prepared_xacts WHERE prepared < now() - interval ''`+age+`''')`).Scan(&left)
		return err == nil && left == "00"
	})
}

// batches are clients that create batches.
type batches struct {
	load *haLoad

	mu   sync.Mutex
	last int64
	all  []batch
	seen int // of all, which end has checked
}

// batch is a batch whose response has arrived. Its ids are first, first-1, and so on.
type batch struct {
	first        int64
	acknowledged bool
}

const batchSize = 40

// startBatches starts a client for each server. The ids are negative.
func startBatches(l *haLoad) *batches {
	b := &batches{load: l}
	for server := range l.servers {
		l.clients.Go(func() { l.loop(func() { b.writeOne(server) }) })
	}
	return b
}

func (b *batches) writeOne(server int) {
	b.mu.Lock()
	first := b.last - 1
	b.last -= batchSize
	b.mu.Unlock()
	status := b.load.send(server, new([2]gap), "POST", "/plants:batch",
		batchOf(first-batchSize+1, batchSize, "of a batch"), 200)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, batch{first, status == 200})
}

// ended returns how many batches have a response.
func (b *batches) ended() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.all)
}

// end checks the batches up to the given number, and returns columns of the table.
func (b *batches) end(ended int) string {
	stored := b.load.list()
	b.mu.Lock()
	defer b.mu.Unlock()
	acknowledged, torn := 0, 0
	var errs []error
	for _, batch := range b.all[b.seen:ended] {
		n := 0
		for i := range int64(batchSize) {
			if _, ok := stored[batch.first-i]; ok {
				n++
			}
		}
		if batch.acknowledged {
			acknowledged++
		}
		if n != batchSize && (n > 0 || batch.acknowledged) {
			torn++
			errs = append(errs, fmt.Errorf("the batch from %d on, acknowledged: %v, has %d of %d plants", batch.first, batch.acknowledged, n, batchSize))
		}
	}
	b.seen = ended
	expect.NoError(b.load.t, errors.Join(errs...))
	return fmt.Sprintf(" %d | %d |", acknowledged, torn)
}
