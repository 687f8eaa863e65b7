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

// BenchmarkStart starts the program, built as for a release, and sends it a
// request. It reports the median time to the first response, and the memory
// that the program uses then and a second later. Half of that memory are the
// pages of the program file, which are shared, and reclaimed when memory is
// short.
func BenchmarkStart(b *testing.B) {
	program := filepath.Join(b.TempDir(), "plantstore")
	if out, err := exec.Command("go", "build", "-trimpath", "-tags=urfave_cli_no_template", "-ldflags=-s -w", "-o", program, "../../cmd/plantstore").CombinedOutput(); err != nil {
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
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-to-first-response")
	b.ReportMetric(float64(resident)/(1<<20), "MiB-idle")
}

// startProgram returns after the first response of the program.
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

// residentMemory returns how much memory a program uses on Linux, in bytes; 0
// on other systems.
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
