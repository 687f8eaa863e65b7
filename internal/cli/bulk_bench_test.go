//go:build unix

package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// BenchmarkBulk imports and exports a million plants with the commands and a
// running service. It compares the import with the upper limit of a SQLite
// file: the same rows in the same order, inserted into the same table with the
// same index by one prepared statement, a thousand in each transaction.
func BenchmarkBulk(b *testing.B) {
	const plants = 1_000_000
	dir := b.TempDir()
	file := filepath.Join(dir, "plants.csv")
	if err := writeMillion(file, plants); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		raw := plants / rawInserts(b, filepath.Join(b.TempDir(), "raw.db"), plants).Seconds()

		r, err := launch(b.TempDir(), append(os.Environ(), "PLANTSTORE_TOKEN="), "--addr", "127.0.0.1:0", "--print-token")
		if err != nil {
			b.Fatal(err)
		}
		bulk := func(args ...string) (seconds float64, memory int64) {
			cmd := exec.Command("plantstore", args...)
			cmd.Env = (&remoteServer{r.url, r.token}).env()
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			return time.Since(began).Seconds(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
		}
		seconds, memory := bulk("import", file)
		b.ReportMetric(raw, "raw-inserts/s")
		b.ReportMetric(plants/seconds, "imported/s")
		b.ReportMetric(plants/seconds/raw, "imported/raw")
		b.ReportMetric(float64(memory)/(1<<20), "import-MiB")
		seconds, memory = bulk("export", filepath.Join(dir, "out.csv"))
		b.ReportMetric(plants/seconds, "exported/s")
		b.ReportMetric(float64(memory)/(1<<20), "export-MiB")
		r.kill()
	}
}

func benchPlant(i int) (id int64, name, tag string) {
	return int64(i), fmt.Sprint("Ficus lyrata ", i), fmt.Sprint("family ", i%1000)
}

func writeMillion(name string, plants int) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	w := bufio.NewWriter(file)
	fmt.Fprintln(w, "id,name,tag")
	for i := range plants {
		id, name, tag := benchPlant(i)
		fmt.Fprintf(w, "%d,%s,%s\n", id, name, tag)
	}
	return w.Flush()
}

func rawInserts(b *testing.B, path string, plants int) time.Duration {
	b.Helper()
	conn, err := sqlite.OpenConn(path)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	schema := ""
	for _, pragma := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"} {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			b.Fatal(err)
		}
	}
	for _, migration := range []string{"001_plants_and_tokens.sql", "002_plants_by_tag.sql"} {
		text, err := os.ReadFile("../../internal/store/sqlite/migrations/" + migration)
		if err != nil {
			b.Fatal(err)
		}
		schema += string(text)
	}
	if err := sqlitex.ExecuteScript(conn, schema, nil); err != nil {
		b.Fatal(err)
	}
	insert := conn.Prep("INSERT INTO plants (id, name, tag, version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)")
	began := time.Now()
	for from := 0; from < plants; from += 1000 {
		end, err := sqlitex.ImmediateTransaction(conn)
		if err != nil {
			b.Fatal(err)
		}
		for i := from; i < from+1000; i++ {
			id, name, tag := benchPlant(i)
			insert.BindInt64(1, id)
			insert.BindText(2, name)
			insert.BindText(3, tag)
			insert.BindInt64(4, int64(i)<<40)
			insert.BindInt64(5, 1)
			insert.BindInt64(6, 1)
			if _, err := insert.Step(); err != nil {
				b.Fatal(err)
			}
			if err := insert.Reset(); err != nil {
				b.Fatal(err)
			}
		}
		end(&err)
		if err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}
