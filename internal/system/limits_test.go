package system_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// The flag --max-body reaches the handler, and its smallest value is enough for the
// longest plant in its longest form.
func TestMaxBody(t *testing.T) {
	t.Parallel()
	r := program.Serve(t, "sqlite::memory:", "--max-body", "16KiB")
	const escaped = `\ud83c\udf31` // one character
	longest := fmt.Sprintf(`{"id":-9223372036854775808,"name":"%s","tag":"%s"}`, strings.Repeat(escaped, 1000), strings.Repeat(escaped, 256))
	for _, c := range []struct {
		bytes int
		want  string
	}{
		{len(longest), "200 OK"},
		{16 << 10, "200 OK"},
		{16<<10 + 1, `"error":40006,"message":"body is larger than the limit of 16384 bytes"`},
	} {
		resp, body, err := r.Send(plantcontract.Plants().Client(t), http.MethodPost, "/plants",
			longest+strings.Repeat(" ", c.bytes-len(longest)))
		must.NoError(t, err)
		if got := resp.Status + body; !strings.Contains(got, c.want) {
			t.Errorf("a body of %d bytes gets %.200s, want %s", c.bytes, got, c.want)
		}
	}
}

// While another program locks the store, the service answers reads and no writes. The flag
// --max-in-flight reaches the handler: while a write waits for the lock, a read is refused.
func TestLockedStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := program.ServeIn(t, dir, "plants.db", "--max-in-flight", "1")
	conn, err := sqlite.OpenConn(filepath.Join(dir, "plants.db"), sqlite.OpenReadWrite)
	must.NoError(t, err)
	defer conn.Close()
	must.NoError(t, sqlitex.ExecuteTransient(conn, "BEGIN IMMEDIATE", nil))
	r.WantHealth(t, "/writez", "writable\n", "the store does not respond in time")
	r.WantReady(t, "") // reads do not wait for the lock
	if status, _ := r.Page(t, "/livez"); status != http.StatusOK {
		t.Errorf("/livez is %d although only the store is down", status)
	}
	r.Want(t, http.StatusOK, http.MethodGet, "/plants", "")
	var write sync.WaitGroup
	write.Go(func() { // it is refused, too, while a read is in flight
		for status := http.StatusServiceUnavailable; status == http.StatusServiceUnavailable && !t.Failed(); {
			resp, _, err := r.Send(http.DefaultClient, http.MethodPost, "/plants", `{"id":1,"name":"n"}`)
			if err != nil {
				t.Error(err)
				return
			}
			status = resp.StatusCode
		}
	})
	wait.Until(t, "a read is refused", func() bool {
		resp, _, err := r.Send(http.DefaultClient, http.MethodGet, "/plants", "")
		return err == nil && resp.StatusCode == http.StatusServiceUnavailable
	})
	must.NoError(t, sqlitex.ExecuteTransient(conn, "ROLLBACK", nil))
	write.Wait()
	r.WantHealth(t, "/writez", "writable\n", "")
}
