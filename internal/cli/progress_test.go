package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/transfer"
)

// Without a terminal a line every few seconds reports the progress.
func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := startProgress(&out, 1000, new(transfer.Service))
		p.plants.Store(2000)
		time.Sleep(lineEvery - time.Second)
		if out.Len() > 0 {
			t.Errorf("the first line came too early: %q", &out)
		}
		p.bytes.Store(250)
		p.plants.Store(100_000)
		p.say("line 7: id is missing")
		p.refused.Add(1)
		time.Sleep(2 * time.Second)
		p.finish()
		time.Sleep(time.Minute)
		want := "line 7: id is missing\n100,000 plants, 1 refused, 20,000 a second, 25%, 15s left\n"
		if out.String() != want {
			t.Errorf("the output is %q, want %q", &out, want)
		}
	})
}

// On a terminal the line changes in its place, and other lines stay above it.
func TestProgressInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		texts := []string{"9", "10 plants"}
		r := startReports(&out, true, func() string {
			text := texts[len(texts)-1]
			texts = texts[:len(texts)-1]
			return text
		})
		time.Sleep(redrawEvery + time.Millisecond)
		r.say("line 7")
		time.Sleep(redrawEvery)
		r.finish()
		erase := func(text string) string { return "\r" + strings.Repeat(" ", len(text)) + "\r" }
		if want := "10 plants" + erase("10 plants") + "line 7\n" + "9" + erase("9"); out.String() != want {
			t.Errorf("the output is %q, want %q", &out, want)
		}
	})
}

// A copy says which of its phases runs. Its size is unknown, as that of a pipe is, so the
// lines have no percentage.
func TestProgressOfPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := startProgress(&out, 0, new(transfer.Service))
		p.plants.Store(10)
		for _, phase := range []string{"copying", "checking the target"} {
			p.phase.Store(phase)
			p.bytes.Store(250)
			time.Sleep(lineEvery + time.Second)
		}
		p.finish()
		if want := "copying: 10 plants, 2 a second\nchecking the target: 10 plants, 1 a second\n"; out.String() != want {
			t.Errorf("the output is %q, want %q", &out, want)
		}
	})
}

// While an import waits for a service it says for how long, and why.
func TestImportReportsWaiting(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprintln(w, `{"created":2,"plants":[{"name":"Rosa"},{"name":"Ficus"}]}`)
	}))
	t.Cleanup(server.Close)
	service, err := transfer.NewService(server.URL, "token")
	must.NoError(t, err)
	var out strings.Builder
	p := startProgress(&out, 0, service)
	defer p.finish()
	ended := make(chan error, 1)
	go func() {
		u := transfer.Upload{Service: service, Stored: func(int) {}, Refuse: func(transfer.RowError) {}}
		_, err := u.Run(t.Context(), transfer.NewReader(strings.NewReader("id,name\n1,Rosa\n2,Ficus\n"), transfer.CSV))
		ended <- err
	}()
	want := regexp.MustCompile(`^0 plants, waiting for the service for \d+s \(at most 1m0s\): http://\S+ responded with 502 Bad Gateway, `)
	wait.Until(t, "the line is like "+want.String(), func() bool { return want.MatchString(p.line()) })
	broken.Store(false)
	expect.NoError(t, wait.For(t, "the end of the import, which goes on once the service is available", ended))
	if line := p.line(); strings.Contains(line, "waiting") {
		t.Errorf("after the wait the line is %q", line)
	}
}
