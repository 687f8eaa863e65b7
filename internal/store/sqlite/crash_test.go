package sqlite

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/storebench"
	"github.com/plantstore/plantstore/internal/testing/storetest"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// crashStore is an environment variable. If it is set, the test binary is the
// program that TestCrash kills.
const crashStore = "PLANTSTORE_TEST_CRASH_STORE"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashStore); path != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(path))
		os.Exit(1)
	}
	storebench.ServeIfAsked(openSide)
	// The tests mostly wait for the disk, so more of them run than there are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// crashBatch is the number of plants that one write creates. Batch n has the IDs
// n*crashBatch to n*crashBatch+crashBatch-1.
const crashBatch = 8

// TestCrash kills a program at a random moment while it writes, and checks that
// every acknowledged write is stored. PLANTSTORE_TEST_CRASH_ROUNDS is the number of
// rounds. Five rounds use the same file, so the writes of one round must survive
// the crashes of the next ones.
//
// A follower of the changes continues after each crash, and in odd rounds also reads
// while the program writes. Its copy must be equal to the list.
//
// This tests a crash of the program. The package powercut tests a power cut, which also
// loses the cache of the operating system.
func TestCrash(t *testing.T) {
	t.Parallel()
	usual := 4
	if testing.Short() {
		usual = 2
	}
	rounds := must.Number(t, "PLANTSTORE_TEST_CRASH_ROUNDS", usual)
	var path string
	sum := 0
	var acknowledged map[int64]bool // batches
	var follower *storetest.Follower
	for round := range rounds {
		if round%5 == 0 { // checking a large file takes long
			path = filepath.Join(t.TempDir(), fmt.Sprint(round))
			acknowledged = map[int64]bool{}
			follower = &storetest.Follower{Limit: 1000}
		}
		// In even rounds the time is counted from the start of the program, so it
		// may be killed before it has opened the file. In odd rounds it is counted
		// from the first acknowledged write, because on a busy machine a program of
		// an even round may never write.
		stop := func() {}
		if round%2 == 1 {
			stop = follow(t, path, follower)
		}
		for _, batch := range killed(t, path, round%2 == 1) {
			acknowledged[batch] = true
		}
		stop()
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		stored := map[int64]int{} // plants of each batch
		err = s.read(t.Context(), func(conn *sqlite.Conn) error {
			if err := checkIntegrity(conn); err != nil {
				return err
			}
			return sqlitex.Execute(conn, `SELECT id, name FROM plants`, &sqlitex.ExecOptions{
				ResultFunc: func(stmt *sqlite.Stmt) error {
					id := stmt.ColumnInt64(0)
					stored[id/crashBatch]++
					if stmt.ColumnText(1) != crashName(id) {
						return fmt.Errorf("plant %d has a wrong name", id)
					}
					return nil
				},
			})
		})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		must.NoError(t, s.BeginEpoch(t.Context())) // as a server does at its start
		follower.Store = s
		follower.Drain(t)
		follower.WantCopy(t)
		if follower.Restarts > 0 {
			t.Fatalf("round %d: the position of the follower was not valid", round)
		}
		for batch, n := range stored {
			if n != crashBatch {
				t.Fatalf("round %d: batch %d has %d plants, want %d or none", round, batch, n, crashBatch)
			}
		}
		for batch := range acknowledged {
			if stored[batch] == 0 {
				t.Fatalf("round %d: batch %d was acknowledged but is not stored", round, batch)
			}
		}
		must.NoError(t, s.Close())
		sum += len(acknowledged)
	}
	t.Logf("%d rounds, %d checks of an acknowledged batch of %d plants", rounds, sum, crashBatch)
	if sum == 0 {
		t.Error("no write was acknowledged")
	}
}

// follow lets a follower read the file at path in another connection until the
// returned function is called.
func follow(t *testing.T, path string, f *storetest.Follower) (stop func()) {
	t.Helper()
	s, err := Open(t.Context(), path)
	must.NoError(t, err)
	f.Store = s
	end := wait.Repeat(1, func(int) bool {
		_, err := f.Next(t)
		expect.Error(t, "Changes", err, nil)
		return err == nil
	})
	return func() {
		end()
		expect.NoError(t, s.Close())
	}
}

// firstWait is the time limit for the first acknowledged batch.
const firstWait = 30 * time.Second

// killed runs writeUntilKilled in another process, kills it at a random time after
// its start or after its first acknowledged batch, and returns the acknowledged
// batches.
func killed(t *testing.T, path string, fromFirst bool) (acknowledged []int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashStore+"="+path)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	must.NoError(t, err)
	must.NoError(t, cmd.Start())
	moment := rand.N(300 * time.Millisecond)
	wait := moment
	if fromFirst {
		wait = firstWait
	}
	kill := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		batch, err := strconv.ParseInt(lines.Text(), 10, 64)
		must.NoError(t, err)
		if acknowledged = append(acknowledged, batch); fromFirst && len(acknowledged) == 1 {
			kill.Reset(moment)
		}
	}
	if fromFirst && len(acknowledged) == 0 {
		t.Fatalf("waited %v for the first acknowledged batch", firstWait)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the program ended before it was killed: %v", err)
	}
	return acknowledged
}

// writeUntilKilled stores batches from several goroutines, and prints the number
// of each acknowledged batch.
func writeUntilKilled(path string) error {
	s, err := Open(context.Background(), path)
	if err != nil {
		return err
	}
	if err := s.BeginEpoch(context.Background()); err != nil {
		return err
	}
	failed := make(chan error)
	var mu sync.Mutex
	for range 16 {
		go func() {
			for {
				batch := rand.Int64N(1 << 40)
				var plants []plant.Plant
				for id := batch * crashBatch; id < (batch+1)*crashBatch; id++ {
					plants = append(plants, plant.Plant{ID: id, Name: crashName(id)})
				}
				if _, err := s.CreateAll(context.Background(), plants); err != nil {
					failed <- err
					return
				}
				mu.Lock()
				fmt.Println(batch)
				mu.Unlock()
			}
		}()
	}
	return <-failed
}

// crashName is the name of a plant. Some names are longer than a page of the file.
func crashName(id int64) string {
	return strings.Repeat(strconv.FormatInt(id, 36), 1+int(id%5)*int(id%7)*int(id%11))
}
