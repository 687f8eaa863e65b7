package sqlite

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// crashed returns the files of a store that was killed, with a log of some length that has an
// earlier log behind its end.
func crashed(t *testing.T) storeFiles {
	h := newHistory(t)
	h.create(100)
	h.checkpoint()
	h.create(60)
	h.remember("crash")
	return h.all[0]
}

// After a flipped bit or an empty block anywhere in the log, a start is refused, or only the
// last commit is missing, or nothing is.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	files := crashed(t)
	content := logOf(t, files)
	used := content.End(content.Used)
	damages := map[string]func(log []byte){}
	for i := range int64(200) {
		at := i * used / 200
		if i < 32 {
			at = i // the header
		}
		damages[fmt.Sprintf("bit at %d", at)] = func(log []byte) { log[at] ^= 1 << (i % 8) }
	}
	for _, size := range []int64{512, 4096} {
		const end = 32 << 10 // which has the last two commits
		for at := int64(0); at < used; at += size {
			if coarse := used / 40 / size * size; at < used-end && at%coarse != 0 {
				continue
			}
			damages[fmt.Sprintf("%d empty bytes at %d", size, at)] = func(log []byte) {
				clear(log[at:min(at+size, int64(len(log)))])
			}
		}
	}
	var refused, less atomic.Int64
	start := func(t *testing.T, name string) {
		log := slices.Clone(files.log)
		damages[name](log)
		plants, err := storedIn(t, place(t, files.database, log, files.index))
		switch {
		case err != nil:
			refused.Add(1)
			expect.Message(t, name, err, "truncate -s")
		case plants == files.plants:
		case plants == files.plants-1:
			less.Add(1)
		default:
			t.Errorf("after %s a store starts with %d plants, %d were acknowledged", name, plants, files.plants)
		}
	}
	names := slices.Sorted(maps.Keys(damages))
	if testing.Short() {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:len(names)/5]
	}
	t.Run("all", func(t *testing.T) {
		for shard := range slices.Chunk(names, 1+len(names)/8) {
			t.Run(shard[0], func(t *testing.T) {
				t.Parallel()
				for _, name := range shard {
					start(t, name)
				}
			})
		}
	})
	t.Logf("figures: %d damages, %d refused, %d without the last commit", len(names), refused.Load(), less.Load())
}

func logOf(t *testing.T, files storeFiles) *wal.Content {
	t.Helper()
	return readLog(place(t, files.database, files.log, files.index))
}

// logFrom reads a log with this content.
func logFrom(t *testing.T, content []byte) *wal.Content {
	t.Helper()
	logged, err := wal.Read(bytes.NewReader(content))
	must.NoError(t, err)
	return logged
}

// A power cut may leave any sectors of the last transaction, and what an earlier log has in place of the
// others. The start is not refused, and has the transactions before it.
func TestTornTransaction(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.create(60)
	h.checkpoint()
	h.create(1)
	h.remember("before")
	h.createAll(600)
	h.remember("after")
	before, after := h.all[0], h.all[1]
	synced, written := logOf(t, before), logOf(t, after)
	first, end := synced.End(synced.Used), written.End(written.Used)
	if end > int64(len(before.log)) {
		t.Fatalf("the transaction ends at %d of the log, the earlier log at %d", end, len(before.log))
	}
	const sector = 512
	tear := func(name string, keeps func(sector int64) bool) {
		log := slices.Clone(before.log)
		for at := first; at < end; {
			next := min((at/sector+1)*sector, end)
			if keeps(at / sector) {
				copy(log[at:next], after.log[at:next])
			}
			at = next
		}
		torn := logFrom(t, log)
		if err := checkLog(torn, h.path); err != nil || torn.Used < synced.Used {
			t.Fatalf("with %s, %d of %d frames are used: %v", name, torn.Used, synced.Used, err)
		}
	}
	for one := first / sector; one <= end/sector; one++ {
		tear(fmt.Sprint("all but sector ", one), func(sector int64) bool { return sector != one })
	}
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		tear(fmt.Sprint("some sectors, seed ", seed), func(int64) bool { return random.IntN(4) > 0 })
	}
}

// isMixable reports whether a sector ends behind the first 8 bytes of a frame.
func isMixable(logged *wal.Content, number int64) bool {
	const sector = 512
	return logged.End(number-1)%sector == sector-8
}

// A damaged commit is noticed by the one behind it, also where a power cut could mix its frame, or that of the commit
// behind it, with one of an earlier log.
func TestDamagedCommitBesideMixedFrame(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	one, _ := token.New("one", nil, time.Hour)
	create := func(h *history) { h.create(1) }
	number := 0
	rename := func(h *history) { // a token: writes one page, which no plant is in
		number++
		must.NoError(t, h.store.UpdateToken(t.Context(), one.ID, func(t *token.Token) error { t.Name = fmt.Sprint(number); return nil }))
	}
	const limit = 2000 // commits; one in 64 is at such a place
	for name, c := range map[string]struct{ damaged, next func(*history) }{
		"plants":                {create, create},
		"a token, then a plant": {rename, create},
		"a plant, then a token": {create, rename},
	} {
		for mixed, what := range []string{"the damaged commit", "the next one"} {
			t.Run(name+", "+what, func(t *testing.T) {
				h := newHistory(t)
				h.store.checkpointAt = math.MaxInt
				must.NoError(t, h.store.CreateToken(t.Context(), one))
				var ends [2]int64 // of the two transactions, in frames
				for n := 0; !isMixable(readLog(h.path), ends[mixed]); n++ {
					if n == limit {
						t.Fatal("no commit is at such a place")
					}
					if n%3 == 0 {
						rename(h) // or the commits could be always at the same places
					}
					c.damaged(h)
					ends[0] = readLog(h.path).Used
					c.next(h)
					ends[1] = readLog(h.path).Used
				}
				h.remember("crash")
				logged := logOf(t, h.all[0])
				start := logged.End(ends[0] - 1) // of the frame of the damaged commit
				places := map[string][]int64{
					"its page":                         {logged.End(ends[0]) - 1},
					"its checksum":                     {start + 16},
					"the checksum of the frame before": {logged.End(ends[0]-2) + 16},
				}
				if mixed == 1 { // a mixed frame behind other damage
					places["its page and the last one"] = []int64{logged.End(ends[0]) - 1, logged.End(ends[1]) - 1}
				}
				for place, damaged := range places {
					log := slices.Clone(h.all[0].log)
					for _, at := range damaged {
						log[at] ^= 1
					}
					err := checkLog(logFrom(t, log), h.path)
					expect.Message(t, fmt.Sprintf("the log with commits at %d, damaged in %s", ends, place), err, "are behind the damage")
				}
			})
		}
	}
}

// The command in the error keeps the damaged log, and leaves what is before the damage.
func TestDamagedLogIsPutAside(t *testing.T) {
	t.Parallel()
	files := crashed(t)
	for name, c := range map[string]struct{ at, least int64 }{
		"in a page":     {32 + 24 + 4096*20, 101},
		"in the header": {9, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := slices.Clone(files.log)
			log[c.at] ^= 1
			path := place(t, files.database, log, files.index)
			_, err := Open(t.Context(), path)
			expect.Message(t, "Open", err, "-wal is damaged")
			runAdvice(t, err.Error())
			if !bytes.Equal(read(t, path+"-wal.damaged"), log) {
				t.Error("the log that was kept differs")
			}
			for range 2 {
				plants, err := storedIn(t, path)
				must.NoError(t, err)
				if plants < c.least || plants == files.plants {
					t.Errorf("there are %d plants, want at least %d, and not all", plants, c.least)
				}
			}
		})
	}
}

// What a power cut leaves of the last transaction is logged at the start, and not more than
// once.
func TestIncompleteTransaction(t *testing.T) {
	t.Parallel()
	files := crashed(t)
	content := logOf(t, files)
	last := content.End(content.Used - 1) // where the frame of the last commit begins
	log := slices.Clone(files.log)
	log[last+100] ^= 1
	openToWrite := func(path string) (*Store, error) { return Open(t.Context(), path) }
	for name, open := range map[string]func(path string) (*Store, error){"Open": openToWrite, "OpenReadOnly": OpenReadOnly} {
		t.Run(name, func(t *testing.T) {
			path := place(t, files.database, log, nil)
			start := func(open func(path string) (*Store, error)) (says string) {
				s, err := open(path)
				must.NoError(t, err)
				var lines bytes.Buffer
				s.Watch(slog.New(slog.NewTextHandler(&lines, nil)))
				must.NoError(t, s.Close())
				return lines.String()
			}
			if lines := start(open); !strings.Contains(lines, "incomplete transaction") {
				t.Errorf("the log does not have it:\n%s", lines)
			}
			start(openToWrite)
			if lines := start(open); strings.Contains(lines, "incomplete transaction") {
				t.Errorf("the log has it after a start without it:\n%s", lines)
			}
		})
	}
}

// runAdvice runs the command in a message, as a person would.
func runAdvice(t *testing.T, message string) {
	t.Helper()
	const word = `(?:[\w./:-]|'[^']*'|\\')+` // of a shell
	commands := strings.ReplaceAll(`mv W W|cp -p W W && truncate -s \d+ W`, "W", word)
	command := regexp.MustCompile(commands).FindString(message)
	if command == "" {
		t.Fatalf("there is no command in %q", message)
	}
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// While a store is written to and its log begins anew all the time, other programs may open it.
func TestCheckLogDuringWrites(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	stop := wait.Repeat(1, func(int) bool {
		h.store.checkpointAt = min(h.store.checkpointAt, 100)
		h.create(10)
		return true
	})
	for range 300 {
		if _, err := checkContents(h.path); err != nil {
			t.Error(err)
			break
		}
	}
	stop()
}

// A commit whose sync has failed leaves its frames behind the end of the log. The next commit
// begins a new log, for which they are not lost commits.
func TestLogBeginsAnewAfterDiskError(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.create(3)
	before := read(t, h.path+"-wal")[16:24]
	err := h.store.runWrite(t.Context(), func(*sqlite.Conn) error { return sqlite.ResultIOErrFsync.ToError() })
	expect.Error(t, "write", err, plant.ErrUnavailable)
	h.create(2)
	if after := read(t, h.path+"-wal")[16:24]; bytes.Equal(before, after) {
		t.Error("the log did not begin anew")
	}
}
