package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Refused rows are reported and written in the order of the file, also if the
// responses come in another order.
func TestRejectsAreInOrder(t *testing.T) {
	r := serve(t, "plantstore.db")
	dir := t.TempDir()
	var taken, file, want strings.Builder
	taken.WriteString("id,name,tag\n")
	file.WriteString("id,name,tag\n")
	want.WriteString("line,reason,id,name,tag\n")
	for id := 1; id <= 3000; id++ {
		row, reason := fmt.Sprintf("%d,plant,", id), ""
		switch id % 250 {
		case 0:
			fmt.Fprintf(&taken, "%d,another,\n", id)
			reason = fmt.Sprintf("another plant has the id %d", id)
		case 100:
			row, reason = ",plant,", "id is missing"
		}
		fmt.Fprintln(&file, row)
		if reason != "" {
			fmt.Fprintf(&want, "%d,%s,%s\n", id+1, reason, row)
		}
	}
	for name, text := range map[string]string{"taken.csv": taken.String(), "plants.csv": file.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.do(t, "import", filepath.Join(dir, "taken.csv"))
	var requests, ended atomic.Int64
	later := make(chan struct{})
	proxy := startProxy(t, r.url, func(w http.ResponseWriter, req *http.Request, forward http.Handler) {
		if requests.Add(1) == 1 { // delay the first batch
			select {
			case <-later:
			case <-time.After(wait.Limit):
				t.Error("no other request was sent while the first waits")
			}
		}
		forward.ServeHTTP(w, req)
		if ended.Add(1) == 10 {
			close(later)
		}
	})
	rejects := filepath.Join(dir, "rejects.csv")
	cmd := r.with(proxy, r.token).command(t, "import", filepath.Join(dir, "plants.csv"), "--rejects", rejects)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("import ends with %v, want exit status 2\n%s", err, &stderr)
	}
	if diff := cmp.Diff(want.String(), string(readFile(t, rejects))); diff != "" {
		t.Errorf("the file of refused rows (-want +got):\n%s", diff)
	}
	var lines []int
	for _, m := range regexp.MustCompile(`(?m)^line (\d+): `).FindAllStringSubmatch(stderr.String(), -1) {
		line, _ := strconv.Atoi(m[1])
		lines = append(lines, line)
	}
	if len(lines) != 24 || !slices.IsSorted(lines) {
		t.Errorf("stderr names the lines %v, want 24 in order", lines)
	}
}
