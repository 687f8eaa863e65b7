//go:build race

package contracttest

import (
	"strings"
	"testing"
)

// The example of races in README.md finds a handler that counts without a lock. It runs where this test is built for the
// race detector, which needs a C compiler.
func TestFindsRace(t *testing.T) {
	t.Parallel()
	run := otherModule(t, "### Races", `package shop

import (
	"fmt"
	"net/http"
	"strconv"
)

func handler() http.Handler {
	read := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		read++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `+"`{\"id\":%d}`"+`, id)
	})
	return mux
}
`)
	out := run("test", "-race", "-vet=off", ".")
	if !strings.Contains(out, "WARNING: DATA RACE") || !strings.Contains(out, "--- FAIL: TestRaces") {
		t.Errorf("go test -race says:\n%s", out)
	}
}
