package sqlite

import (
	"bufio"
	"context"
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
	"github.com/plantstore/plantstore/internal/storebench"
)

// crashStore, if set, makes the test binary the program that TestCrash kills.
const crashStore = "PLANTSTORE_TEST_CRASH_STORE"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashStore); path != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(path))
		os.Exit(1)
	}
	storebench.ServeIfAsked(openSide)
	os.Exit(m.Run())
}

// crashBatch is how many plants of the test are created by one write. Those
// with IDs n*crashBatch to n*crashBatch+crashBatch-1 are one batch.
const crashBatch = 8

// TestCrash kills a program that writes, at any moment, and looks whether what
// it has acknowledged is there. It runs as many rounds as
// PLANTSTORE_CRASH_ROUNDS says, five on a file, so that what was saved in one has
// to outlive the next ones.
//
// This shows what the death of the program may do. A power cut takes the
// system's cache as well; against that stands one fsync per commit, which
// synchronous=FULL asks for: see checkDurable.
func TestCrash(t *testing.T) {
	rounds := 4
	if text := os.Getenv("PLANTSTORE_CRASH_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	var path string
	sum := 0
	var acknowledged map[int64]bool // batches
	for round := range rounds {
		if round%5 == 0 { // looking through a long file takes long
			path = filepath.Join(t.TempDir(), fmt.Sprint(round))
			acknowledged = map[int64]bool{}
		}
		// Every other program is killed at a moment from before it has opened the
		// file to after its first checkpoints, and the others once they have
		// acknowledged something: on a busy machine the first kind may never
		// come to that.
		for _, batch := range killed(t, path, round%2 == 1) {
			acknowledged[batch] = true
		}
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
						return fmt.Errorf("plant %d is torn", id)
					}
					return nil
				},
			})
		})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for batch, n := range stored {
			if n != crashBatch {
				t.Fatalf("round %d: of batch %d there are %d plants, want %d or none", round, batch, n, crashBatch)
			}
		}
		for batch := range acknowledged {
			if stored[batch] == 0 {
				t.Fatalf("round %d: batch %d was acknowledged and is not there", round, batch)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		sum += len(acknowledged)
	}
	t.Logf("in %d rounds %d times a batch of %d was looked for and found", rounds, sum, crashBatch)
	if sum == 0 {
		t.Error("nothing was acknowledged")
	}
}

// firstWait is how long a program may take to acknowledge its first batch.
const firstWait = 30 * time.Second

// killed runs writeUntilKilled for a moment, counted from its start or from its
// first acknowledged batch, and returns the batches that it has acknowledged.
func killed(t *testing.T, path string, fromFirst bool) (acknowledged []int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashStore+"="+path)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	moment := rand.N(300 * time.Millisecond)
	wait := moment
	if fromFirst {
		wait = firstWait
	}
	kill := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		batch, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if acknowledged = append(acknowledged, batch); fromFirst && len(acknowledged) == 1 {
			kill.Reset(moment)
		}
	}
	if fromFirst && len(acknowledged) == 0 {
		t.Fatalf("the program acknowledged nothing in %v", firstWait)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the program ended by itself: %v", err)
	}
	return acknowledged
}

// writeUntilKilled stores batches from many callers and prints the number of
// each once it is acknowledged.
func writeUntilKilled(path string) error {
	s, err := Open(context.Background(), path)
	if err != nil {
		return err
	}
	failed := make(chan error)
	var mu sync.Mutex
	for range 16 {
		go func() {
			for {
				batch := rand.Int64N(1 << 40)
				err := s.write(context.Background(), func(conn *sqlite.Conn) error {
					for id := batch * crashBatch; id < (batch+1)*crashBatch; id++ {
						if _, _, err := insertPlant(conn, plant.Plant{ID: id, Name: crashName(id)}); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
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

// crashName is the name of a plant, of some length, which may be that of pages.
func crashName(id int64) string {
	return strings.Repeat(strconv.FormatInt(id, 36), 1+int(id%5)*int(id%7)*int(id%11))
}
