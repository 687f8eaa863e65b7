package system_test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// BenchmarkStart starts the program, built as for a release, and sends it a
// request. It reports the median time to the first response, and the memory
// that the program uses a second after its first start. Half of that memory are the
// pages of the program file, which are shared, and reclaimed when memory is
// short.
func BenchmarkStart(b *testing.B) {
	path, store := filepath.Join(b.TempDir(), "plantstore"), filepath.Join(b.TempDir(), "plants.db")
	if out, err := exec.Command("go", "build", "-trimpath", "-tags=urfave_cli_no_template", "-ldflags=-s -w", "-o", path, "../../cmd/plantstore").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	var times []time.Duration
	var resident int64
	for b.Loop() {
		begun := time.Now()
		r, err := program.LaunchPath(path, b.TempDir(), nil, "--addr", "127.0.0.1:0", "--store", store)
		must.NoError(b, err)
		r.Call(b, http.MethodGet, "/plants", "") // 401
		times = append(times, time.Since(begun))
		if resident == 0 {
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
