package system_test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// BenchmarkStart starts the program, built as for a release, and sends it a
// request. It reports the median time to the first response, and the memory
// that the program uses then and a second later. Half of that memory are the
// pages of the program file, which are shared, and reclaimed when memory is
// short.
func BenchmarkStart(b *testing.B) {
	path := filepath.Join(b.TempDir(), "plantstore")
	if out, err := exec.Command("go", "build", "-trimpath", "-tags=urfave_cli_no_template", "-ldflags=-s -w", "-o", path, "../../cmd/plantstore").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	b.Run("new", func(b *testing.B) { benchmarkStart(b, path, false) })
	b.Run("existing", func(b *testing.B) { benchmarkStart(b, path, true) })
}

func benchmarkStart(b *testing.B, path string, existing bool) {
	store := filepath.Join(b.TempDir(), "plants.db")
	start := func() *program.Server {
		r, err := program.LaunchPath(path, b.TempDir(), nil, "--addr", "127.0.0.1:0", "--store", store)
		must.NoError(b, err)
		r.Call(b, http.MethodGet, "/plants", "") // 401
		return r
	}
	if existing {
		start().Kill()
	}
	var times []time.Duration
	var resident int64
	for n := 0; b.Loop(); n++ {
		if !existing {
			store = filepath.Join(b.TempDir(), strconv.Itoa(n))
		}
		begun := time.Now()
		r := start()
		times = append(times, time.Since(begun))
		if n == 0 {
			time.Sleep(time.Second)
			resident = r.Memory("VmRSS")
		}
		r.Kill()
	}
	slices.Sort(times)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-to-first-response")
	b.ReportMetric(float64(resident)/(1<<20), "MiB-idle")
}
