package limit

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// noting is a client that notes that it is cut off.
type noting struct {
	http.ResponseWriter
	name string
	cut  *[]string
}

func (c noting) SetReadDeadline(time.Time) error {
	*c.cut = append(*c.cut, c.name)
	return nil
}

// When the account is full, the key that holds most loses what it has held longest.
func TestAccount(t *testing.T) {
	a := NewAccount(100, (*http.ResponseController).SetReadDeadline)
	var cut []string
	hold := func(name, key string, bytes int, text []byte) *Holding {
		h := &Holding{Key: key, Bytes: bytes, Text: text, Client: noting{name: name, cut: &cut}}
		if !a.Hold(h, true) {
			t.Errorf("%s: there is no room for %d bytes", name, bytes)
		}
		return h
	}
	wantCut := func(want string) {
		t.Helper()
		if got := strings.Join(cut, " "); got != want {
			t.Errorf("cut off: %q, want %q", got, want)
		}
		cut = nil
	}
	honest := hold("honest", "b", 30, nil)
	first := hold("first", "a", 20, nil)
	second := hold("second", "a", 20, nil)
	third := hold("third", "a", 20, nil)
	wantCut("")
	if a.Hold(&Holding{Key: "c", Bytes: 20}, false) {
		t.Error("there is room for 110 bytes")
	}
	wantCut("")
	other := hold("other", "c", 20, nil)
	wantCut("first")
	if first.Keep() {
		t.Error("a request that was cut off holds something")
	}
	if !second.Keep() {
		t.Error("second was cut off")
	}
	fourth := hold("fourth", "c", 40, nil)
	wantCut("honest") // of those that wait for their clients, b holds most
	if a.bytes != 100 {
		t.Errorf("%d bytes are held, want 100", a.bytes)
	}
	if a.Hold(&Holding{Key: "d", Bytes: 81}, true) {
		t.Error("there is room for 101 bytes")
	}
	wantCut("other fourth third") // and second is kept
	second.Release()

	// A text that many send takes memory once.
	shared := make([]byte, 20)
	var readers []*Holding
	for range 10 {
		readers = append(readers, hold("reader", "d", 1, shared))
	}
	wantCut("")
	large := hold("large", "e", 0, make([]byte, 60))
	last := hold("last", "f", 20, nil)
	wantCut("large")
	for _, h := range slices.Concat(readers, []*Holding{honest, first, second, third, fourth, other, large, last}) {
		h.Release()
		h.Release() // does nothing
	}
	if a.bytes != 0 || len(a.texts) != 0 {
		t.Errorf("%d bytes and the texts %v are held after all", a.bytes, a.texts)
	}
}
