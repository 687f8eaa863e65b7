package cli

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkStart starts the program, as it is released, and asks it for
// something: the median time to the first answer, and the memory that it
// occupies then and a second later. Of the second half are the pages of the
// program itself, which are shared and given back when memory is short.
func BenchmarkStart(b *testing.B) {
	program := filepath.Join(b.TempDir(), "plantstore")
	if out, err := exec.Command("go", "build", "-trimpath", "-tags=urfave_cli_no_template", "-ldflags=-s -w", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	b.Run("new", func(b *testing.B) { benchmarkStart(b, program, false) })
	b.Run("existing", func(b *testing.B) { benchmarkStart(b, program, true) })
}

func benchmarkStart(b *testing.B, program string, existing bool) {
	store := filepath.Join(b.TempDir(), "plants.db")
	if existing {
		r := startProgram(b, program, store)
		_ = r.Process.Kill()
		_ = r.Wait()
	}
	var times []time.Duration
	var resident int64
	for n := 0; b.Loop(); n++ {
		if !existing {
			store = filepath.Join(b.TempDir(), strconv.Itoa(n))
		}
		begun := time.Now()
		r := startProgram(b, program, store)
		times = append(times, time.Since(begun))
		if n == 0 {
			time.Sleep(time.Second)
			resident = residentMemory(b, r.Process.Pid)
		}
		_ = r.Process.Kill()
		_ = r.Wait()
	}
	slices.Sort(times)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-to-first-answer")
	b.ReportMetric(float64(resident)/(1<<20), "MiB-idle")
}

// startProgram returns once the program has answered a request.
func startProgram(b *testing.B, program, store string) *exec.Cmd {
	b.Helper()
	cmd := exec.Command(program, "serve", "--addr", "127.0.0.1:0", "--store", store)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	m := announcement.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		b.Fatalf("plantstore serve printed %q, %v", line, err)
	}
	resp, err := http.Get(m[1] + "/plants")
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return cmd
}

// residentMemory asks Linux how much memory a program occupies, in bytes; it is
// 0 elsewhere.
func residentMemory(b *testing.B, pid int) int64 {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(text, []byte("VmRSS:"))
	kib, err := strconv.ParseInt(strings.Fields(string(after))[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib << 10
}
