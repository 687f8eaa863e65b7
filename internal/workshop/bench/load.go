package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/plantstore/plantstore/internal/workshop/bench/peer"
)

// load is a request that wrk sends again and again.
type load struct {
	run
	method, path, body string // with anyID in place of the id
	token              string
	first, last        int64 // id
}

// anyID is what load.lua replaces by an id. It has as many digits as the id of a
// create.
const anyID = "0000000000"

// firstID is the first id of a create, so that each has ten digits.
const firstID = 1_000_000_000

func loadOf(r run, token string) *load {
	l := &load{run: r, token: token, first: firstID, last: 9_999_999_999}
	switch {
	case r.Load == create && r.Peer == pocketbase:
		l.method, l.path = http.MethodPost, "/api/collections/plants/records"
		l.body = strings.Replace(peer.CreateBody, "%d", `"`+anyID+`"`, 1)
	case r.Load == create:
		l.method, l.path = http.MethodPost, "/plants"
		l.body = strings.Replace(peer.CreateBody, "%d", anyID, 1)
	case r.Load == get:
		l.method, l.path = http.MethodGet, "/plants/"+anyID
		l.first, l.last = 1, peer.Preloaded
	case r.Load == list:
		l.method, l.path = http.MethodGet, "/plants?limit=100"
	}
	return l
}

// skipCreated continues with ids that no create has used.
func (l *load) skipCreated() {
	if l.Load == create {
		l.first += 1_000_000_000
	}
}

// applied is the result of a load.
type applied struct {
	requests int64
	duration time.Duration
	p50, p99 time.Duration
	cpu      time.Duration // of wrk
}

// apply puts the load on a server for a duration. Every response must be a success.
func (l *load) apply(ctx context.Context, core int, url string, d time.Duration) (a applied, err error) {
	cmd := pinned(ctx, core, "wrk", "--threads", "1", "--connections", strconv.Itoa(l.Clients),
		"--duration", fmt.Sprintf("%ds", max(1, int(d.Seconds()))), "--timeout", "30s", "--script", "load.lua",
		url, "--", l.method, l.path, l.body, l.token, strconv.FormatInt(l.first, 10), strconv.FormatInt(l.last, 10))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return a, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	var us, p50, p99, failed int64
	_, result, _ := bytes.Cut(out, []byte("\nresult "))
	if _, err := fmt.Sscan(string(result), &a.requests, &us, &p50, &p99, &failed); err != nil {
		return a, fmt.Errorf("wrk printed no result: %w\n%s", err, out)
	}
	if failed > 0 || a.requests == 0 {
		return a, fmt.Errorf("of %d requests %d failed\n%s", a.requests, failed, out)
	}
	a.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	a.duration = time.Duration(us) * time.Microsecond
	a.p50, a.p99 = time.Duration(p50)*time.Microsecond, time.Duration(p99)*time.Microsecond
	return a, nil
}

// check fails unless the first request of the load gets the response that all of
// them should get, and is refused without the token.
func (l *load) check(ctx context.Context, url string) error {
	if status, _, _, err := l.send(ctx, url, ""); err != nil || status < 400 {
		return fmt.Errorf("status %d without a token: %v", status, err)
	}
	status, header, body, err := l.send(ctx, url, l.token)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("status %d: %s", status, body)
	}
	id := strconv.FormatInt(l.first, 10)
	if l.Load == create {
		l.first++ // this id is in use now
	}
	if l.Peer == pocketbase {
		return nil // its responses have another form
	}
	type want struct{ header, value string }
	wants := []want{{"Content-Type", "application/json"}}
	switch l.Load {
	case create:
		wants = append(wants, want{"Location", "/plants/" + id})
		if text := strings.TrimSpace(string(body)); text != `{"name":"Ficus lyrata","tag":"Moraceae"}` {
			return fmt.Errorf("the response is %s", text)
		}
	case get:
		wants = append(wants, want{"ETag", ""}, want{"Cache-Control", "private, no-cache"})
	case list:
		wants = append(wants, want{"Link", `</plants?limit=100&after=100>; rel="next"`}, want{"Cache-Control", "private, no-cache"})
	}
	for _, w := range wants {
		got := header.Get(w.header)
		if mediaType, _, _ := strings.Cut(got, ";"); got == "" || w.value != "" && got != w.value && mediaType != w.value {
			return fmt.Errorf("the header %s is %q, want %q", w.header, got, w.value)
		}
	}
	return nil
}

// send sends one request with the first id.
func (l *load) send(ctx context.Context, url, token string) (int, http.Header, []byte, error) {
	id := strconv.FormatInt(l.first, 10)
	r, err := http.NewRequestWithContext(ctx, l.method, url+strings.Replace(l.path, anyID, id, 1),
		strings.NewReader(strings.Replace(l.body, anyID, id, 1)))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, body, err
}

// wrkVersion is the first line that wrk prints about itself.
func wrkVersion() (string, error) {
	out, err := exec.Command("wrk", "--version").CombinedOutput() // with status 1
	version, _, _ := strings.Cut(string(out), " Copyright")
	if !strings.HasPrefix(version, "wrk ") {
		return "", fmt.Errorf("wrk is needed, Debian's package wrk: %w", err)
	}
	version, _, _ = strings.Cut(version, " [")
	return version, nil
}
