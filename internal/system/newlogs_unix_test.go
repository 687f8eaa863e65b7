//go:build unix

package system_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// Commands write to the store of a service that runs, and copy its log when they end. So the next
// write of any of them begins a new log. No file looks damaged to them, and the next start has all plants.
func TestCommandsThatBeginLogs(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	dir := t.TempDir()
	r := program.ServeIn(t, dir, "plants.db")
	var commands sync.WaitGroup
	for range 4 {
		commands.Go(func() {
			for range 25 {
				command := program.Command(t, "plantstore", "token", "create", "--store", filepath.Join(dir, "plants.db"), "--name", "n")
				if out, err := command.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
	var created acknowledged
	stop := wait.Repeat(1, func(int) bool {
		id, began := created.next(), time.Now()
		resp, body, err := r.Send(http.DefaultClient, http.MethodPost, "/plants", fmt.Sprintf(`{"id":%d,"name":%q}`, id, plantName(id)))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("create plant %d: %s, %v", id, body, err)
			return false
		}
		created.add(began, id)
		return true
	})
	commands.Wait()
	stop()
	r.Kill()
	created.wantStored(t, program.ServeIn(t, dir, "plants.db"))
}
