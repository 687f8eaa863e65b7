package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]httpapi.Rate{
		"off":       {},
		"0":         {},
		"100/s":     {Limit: 100, Per: time.Second},
		"600/m":     {Limit: 600, Per: time.Minute},
		"5000/h":    {Limit: 5000, Per: time.Hour},
		"1000000/s": {Limit: 1_000_000, Per: time.Second},
	} {
		if got, err := parseRate(text); got != want || err != nil {
			t.Errorf("parseRate(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "often", "100", "-1", "+1", "1.5", "0/s", "1/", "/s", "1/d", "1/S", "1/s/s", "1000001/s", "4000000000/h"} {
		if got, err := parseRate(text); err == nil {
			t.Errorf("parseRate(%q) = %v, want an error", text, got)
		}
	}
}

func TestCheckOrigin(t *testing.T) {
	for _, text := range []string{"*", "https://plants.example.com", "http://localhost:3000", "http://[::1]:3000", "app://plants"} {
		expect.NoError(t, checkOrigin(text))
	}
	for _, text := range []string{"", "null", "plants.example.com", "https://", "https://a.example/", "https://a.example/x", "https://u@a.example", "https://A.example", "https://*.example"} {
		if checkOrigin(text) == nil {
			t.Errorf("checkOrigin(%q) = nil, want an error", text)
		}
	}
}

// The flag --max-body reaches the handler, and its smallest value is enough for the
// longest plant in its longest form.
func TestMaxBody(t *testing.T) {
	t.Parallel()
	r := serve(t, "sqlite::memory:", "--max-body", "16KiB")
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
		resp, body, err := r.send(plantcontract.Plants().Client(t), http.MethodPost, "/plants",
			longest+strings.Repeat(" ", c.bytes-len(longest)))
		must.NoError(t, err)
		if got := resp.Status + body; !strings.Contains(got, c.want) {
			t.Errorf("a body of %d bytes gets %.200s, want %s", c.bytes, got, c.want)
		}
	}
}

// The flag --max-in-flight reaches the handler: while a write waits for another program,
// which has locked the store, a read is refused.
func TestMaxInFlight(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := watched(t, dir, "plants.db", "--max-in-flight", "1")
	conn, err := sqlite.OpenConn(filepath.Join(dir, "plants.db"), sqlite.OpenReadWrite)
	must.NoError(t, err)
	defer conn.Close()
	must.NoError(t, sqlitex.ExecuteTransient(conn, "BEGIN IMMEDIATE", nil))
	var write sync.WaitGroup
	write.Go(func() { // it is refused, too, while a read is in flight
		for status := http.StatusServiceUnavailable; status == http.StatusServiceUnavailable && !t.Failed(); {
			resp, _, err := r.send(http.DefaultClient, http.MethodPost, "/plants", `{"id":1,"name":"n"}`)
			if err != nil {
				t.Error(err)
				return
			}
			status = resp.StatusCode
		}
	})
	wait.Until(t, "a read is refused", func() bool {
		resp, _, err := r.send(http.DefaultClient, http.MethodGet, "/plants", "")
		return err == nil && resp.StatusCode == http.StatusServiceUnavailable
	})
	must.NoError(t, sqlitex.ExecuteTransient(conn, "ROLLBACK", nil))
	write.Wait()
}
