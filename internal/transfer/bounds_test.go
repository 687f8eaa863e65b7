package transfer_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/transfer"
)

// A long file takes no more memory than a short one.
func TestMemoryIsBounded(t *testing.T) {
	for _, format := range formats {
		pr, pw := io.Pipe()
		go func() {
			w := transfer.NewWriter(pw, format)
			for id := range int64(50_000) {
				_ = w.Write(client.Plant{ID: id, Name: "Ficus lyrata", Tag: new("Moraceae")})
			}
			_ = w.Flush()
			_ = pw.Close()
		}()
		r := transfer.NewReader(pr, format)
		before := heap()
		n := 0
		for ; ; n++ {
			if _, err := r.Read(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if grown := heap() - before; n != 50_000 || grown > 1<<20 {
			t.Errorf("%s: %d rows use %d bytes of memory", format, n, grown)
		}
		runtime.KeepAlive(r)
	}
}

// The commas of a row without end take no memory once the row is too large.
func TestCommasAreBounded(t *testing.T) {
	file := strings.NewReader("id,name\n" + strings.Repeat(",", 16<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, refused := read(t, transfer.CSV, file)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; len(refused) != 1 || taken > 64<<20 {
		t.Errorf("the refused rows are %q; reading them takes %d bytes", refused, taken)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
