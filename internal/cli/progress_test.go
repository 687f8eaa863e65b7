package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/transfer"
)

// Where there is no terminal a line every few seconds tells how far it is.
func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := startProgress(&out, 1000, new(transfer.Service))
		p.plants.Store(2000)
		time.Sleep(lineEvery - time.Second)
		if out.Len() > 0 {
			t.Errorf("too early it says %q", &out)
		}
		p.bytes.Store(250)
		p.plants.Store(100_000)
		p.say("line 7: has no id")
		p.refused.Add(1)
		time.Sleep(2 * time.Second)
		p.finish()
		time.Sleep(time.Minute)
		want := "line 7: has no id\n100,000 plants, 1 refused, 20,000 a second, 25%, 15s left\n"
		if out.String() != want {
			t.Errorf("it says %q, want %q", &out, want)
		}
	})
}

// From a pipe nobody knows how much there is to come.
func TestProgressWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := startProgress(&out, 0, new(transfer.Service))
		p.bytes.Store(250)
		p.plants.Store(10)
		time.Sleep(2*lineEvery + time.Second)
		p.finish()
		if want := "10 plants, 2 a second\n10 plants, 1 a second\n"; out.String() != want {
			t.Errorf("it says %q, want %q", &out, want)
		}
	})
}
