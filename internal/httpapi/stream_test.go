package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// follower is a stream of changes that a test reads.
type follower struct {
	*http.Response
	t     testing.TB
	lines *bufio.Reader
}

// follow opens a stream. It ends with the test.
func (s *service) follow(query string, changes ...func(*http.Request)) *follower {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/changes:stream?"+query, nil)
	must.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+staticToken)
	for _, change := range changes {
		change(req)
	}
	resp, err := plantcontract.Plants().Client(s.t).Do(req)
	must.NoError(s.t, err)
	s.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("the stream is %s", resp.Status)
	}
	if resp.ProtoMajor == 1 && !resp.Close {
		s.t.Error("the connection stays open after the stream, so that a stop takes longer")
	}
	return &follower{resp, s.t, bufio.NewReader(resp.Body)}
}

// want reads events, comments, or the error after the last one, and fails unless they contain these texts.
func (f *follower) want(texts ...string) {
	f.t.Helper()
	for _, want := range texts {
		got := ""
		for !strings.HasSuffix(got, "\n\n") {
			line, err := f.lines.ReadString('\n')
			if got += line; err != nil {
				got = err.Error()
				break
			}
		}
		if !strings.Contains(got, want) {
			f.t.Fatalf("the stream has %q, want %q", got, want)
		}
	}
}

// What a stream has: a comment if there is no change yet, changes, and an end.
const comment = ":\n\n"

func stored(id int) string { return fmt.Sprintf(`"id":%d,"plant":{`, id) }

func deleted(id int) string { return fmt.Sprintf(`"id":%d,"changed_by":"static"}`, id) }

func end(code plantapi.ErrorCode) string {
	return fmt.Sprintf("event: end\ndata: {\"error\":%d,", code)
}

// A stream has the same changes as the pages, also those of other clients, and ends
// with an event that says why.
func TestStream(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.post(`{"id":1,"name":"a"}`)
	f := s.follow("")
	f.want(stored(1))
	s.call(http.MethodDelete, "/plants/1", "")
	f.want(deleted(1))
	s.call(http.MethodPost, "/plants:batch", `{"plants":[{"id":7,"name":"b"},{"id":2,"name":"a"}]}`)
	f.want(stored(2), stored(7))
	s.feed.Stop()
	f.want(end(plantapi.CodeUnavailable), "EOF")
}

// When the service stops, a stream that has nothing to send sends only its end.
func TestStopEndsStreamAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	streams := make([]*follower, 20)
	for i := range streams {
		streams[i] = s.follow("")
		streams[i].want(comment)
	}
	s.feed.Stop()
	for _, f := range streams {
		f.want(end(plantapi.CodeUnavailable))
	}
}

// When the service stops, a request that waits gets what there is, as the last one on its
// connection, and a later one does not wait.
func TestStopEndsWait(t *testing.T) {
	t.Parallel()
	s := newService(t)
	after := s.changes("").Position
	if a := s.call(http.MethodGet, "/changes?wait=1&after="+after, ""); a.Close {
		t.Error("the connection is closed although the service goes on")
	}
	waiting := make(chan response, 1)
	go func() { waiting <- s.call(http.MethodGet, "/changes?wait=30&after="+after, "") }()
	s.feed.Stop()
	a := wait.For(t, "the response to a request that waits", waiting)
	if a.wantStatus(t, http.StatusOK); !a.Close || !strings.Contains(a.body, `"changes":[],"position":"`) {
		t.Errorf("got %s, close %v; an open connection makes a stop take longer", a.body, a.Close)
	}
	s.changes("wait=30&after=" + after)
}

// A client that loses its token, or the scope of its token, does not see a change.
func TestStreamEndsWithToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*token.Token)
		want   plantapi.ErrorCode
	}{
		"revoked":           {func(t *token.Token) { t.Revoke(time.Now()) }, plantapi.CodeBadCredentials},
		"without the scope": {func(t *token.Token) { t.Scopes = []token.Scope{token.Write} }, plantapi.CodeInsufficientScope},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			mine, text := token.New("laptop", []token.Scope{token.Read}, time.Hour)
			must.NoError(t, s.store.CreateToken(t.Context(), mine))
			with := header("Authorization", "Bearer "+text)
			f := s.follow("", with)
			waiting := make(chan response, 1)
			after := s.changes("").Position
			go func() { waiting <- s.call(http.MethodGet, "/changes?wait=30&after="+after, "", with) }()
			must.NoError(t, s.store.UpdateToken(t.Context(), mine.ID, func(t *token.Token) error { c.change(t); return nil }))
			f.want(comment, end(c.want), "EOF")
			wait.For(t, "the response to a request whose token is "+name, waiting).wantError(t, c.want)
		})
	}
}

// hangingTokens is a store of tokens that does not respond after a time.
type hangingTokens struct {
	token.Store
	hang atomic.Bool
}

func (s *hangingTokens) Token(ctx context.Context, id string) (token.Token, error) {
	if s.hang.Load() {
		<-ctx.Done()
		return token.Token{}, ctx.Err()
	}
	return s.Store.Token(ctx, id)
}

// A stream ends within a second of its token, whether the client reads or not, and
// whenever the token ends.
func TestStreamEndsWithinASecondOfToken(t *testing.T) {
	must.HaveTime(t)
	for _, reads := range []bool{true, false} {
		for _, how := range []string{"revoked", "expired", "expired while the store does not respond"} {
			t.Run(fmt.Sprintf("reads %v, %s", reads, how), func(t *testing.T) {
				// Just after the token was looked up, when it is noticed last.
				for _, after := range []time.Duration{1210 * time.Millisecond, 1610 * time.Millisecond} {
					forBoth(t, func(t *testing.T, http2 bool) { tryTokenEnd(t, http2, reads, how, after) })
				}
			})
		}
	}
}

func tryTokenEnd(t *testing.T, http2, reads bool, how string, after time.Duration) {
	store, err := sqlite.Open(t.Context(), sqlite.Memory)
	tokens := &hangingTokens{Store: opened(t, store, err)}
	mine, text := token.New("laptop", []token.Scope{token.Read}, map[bool]time.Duration{true: time.Hour, false: after}[how == "revoked"])
	must.NoError(t, tokens.CreateToken(t.Context(), mine))
	get, ended := servePipes(t, &oneChange{}, http2, withTokens(tokens))
	over := time.Now().Add(after)
	resp, err := get("/changes:stream", text)
	must.NoError(t, err)
	defer resp.Body.Close()
	events := make(chan string, 1)
	if reads {
		go func() {
			text, _ := io.ReadAll(resp.Body)
			events <- string(text[max(0, len(text)-200):])
		}()
	}
	time.Sleep(after - 300*time.Millisecond)
	tokens.hang.Store(how == "expired while the store does not respond")
	time.Sleep(time.Until(over))
	if how == "revoked" {
		must.NoError(t, tokens.UpdateToken(t.Context(), mine.ID, func(t *token.Token) error { t.Revoke(time.Now()); return nil }))
	}
	if late := wait.For(t, "the end of the stream", ended).Sub(over); late < 0 || late > time.Second {
		t.Errorf("the stream ended %v after its token", late)
	}
	if reads {
		if last := <-events; !strings.Contains(last, end(plantapi.CodeBadCredentials)) {
			t.Errorf("the stream ends with %q", last)
		}
	}
	time.Sleep(10 * time.Second) // a lookup of the token ends
}

// A stream that has nothing to send sends a comment every 15 seconds.
func TestHeartbeat(t *testing.T) {
	forBoth(t, func(t *testing.T, http2 bool) {
		get, _ := servePipes(t, &oneChange{}, http2)
		resp, err := get("/changes:stream?after="+positionOfOne, staticToken)
		must.NoError(t, err)
		defer resp.Body.Close()
		began := time.Now()
		for n := range 5 { // the timeouts of the server are shorter
			comment := make([]byte, 3)
			_, err := io.ReadFull(resp.Body, comment)
			if err != nil || string(comment) != ":\n\n" || time.Since(began) != time.Duration(n)*15*time.Second {
				t.Fatalf("after %v the stream has %q, %v, want comment %d", time.Since(began), comment, err, n)
			}
		}
	})
}

// A stream does not use the connection after its end. With HTTP/2, net/http panics if
// it does.
func TestStreamEndsOverHTTP2(t *testing.T) {
	t.Parallel()
	server := startTLS(t, newService(t, offline).handler, true)
	for range 500 { // without the wait, some of the first hundred end the process
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+"/changes:stream", nil)
		must.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+staticToken)
		resp, err := server.Client().Do(r)
		must.NoError(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
			t.Fatalf("got %s %d", resp.Proto, resp.StatusCode)
		}
	}
}

// A client that does not read its stream is disconnected, and the operator can see it. One that disconnects is normal.
func TestStreamThatIsNotRead(t *testing.T) {
	forBoth(t, func(t *testing.T, http2 bool) {
		log := &logged{}
		get, ended := servePipes(t, &oneChange{}, http2, withLog(log))
		resp, err := get("/changes:stream", staticToken)
		must.NoError(t, err)
		defer resp.Body.Close()
		time.Sleep(31 * time.Second)
		if n, err := io.Copy(io.Discard, resp.Body); err == nil || n > 5<<20 { // an HTTP/2 client buffers 4 MiB
			t.Errorf("read %d bytes after 31 seconds, %v, want a connection that was cut off", n, err)
		}
		wait.For(t, "the end of the stream", ended)
		synctest.Wait() // until it is logged
		lines := log.lines(t)
		if len(lines) != 1 || lines[0].Msg != "response cut short" || lines[0].Status != 499 || lines[0].Operation != "streamChanges" {
			t.Errorf("logged %+v", lines)
		}
		again, err := get("/changes:stream", staticToken)
		must.NoError(t, err)
		defer again.Body.Close()
		event, err := bufio.NewReaderSize(again.Body, 1<<20).ReadString('}')
		if err != nil || len(event) < 6<<20 {
			t.Errorf("after it connected again, the client read %d bytes, %v, want 6 MiB", len(event), err)
		}
		gone, err := get("/changes:stream", staticToken)
		must.NoError(t, err)
		gone.Body.Close()
		wait.For(t, "the end of the stream", ended)
		synctest.Wait()
		if lines := log.lines(t); len(lines) != 1 {
			t.Errorf("logged %+v", lines[1:])
		}
	})
}

// failingFeed is a store that has no second page of changes.
type failingFeed struct {
	plant.Store
	err error
}

func (s failingFeed) Changes(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
	if after != nil {
		return nil, plant.Position{}, s.err
	}
	return s.Store.Changes(ctx, after, limit)
}

// If the store fails, the client of a stream is told, and the operator sees the cause.
func TestStreamEndsWithItsStore(t *testing.T) {
	t.Parallel()
	for cause, code := range map[error]plantapi.ErrorCode{
		errors.New("disk full of eels"):                             plantapi.CodeInternal,
		fmt.Errorf("temporary file of eels: %w", plant.ErrDiskFull): plantapi.CodeUnavailable,
	} {
		log := &logged{}
		s := newService(t, withLog(log), wrapPlants(func(real plant.Store) plant.Store { return failingFeed{real, cause} }))
		s.post(`{"id":1,"name":"n"}`)
		s.follow("").want(stored(1), end(code), "EOF") // which comes after the log
		if lines := log.lines(t); len(lines) != 1 || lines[0].Operation != "streamChanges" || !strings.Contains(lines[0].Err, "eels") {
			t.Errorf("logged %+v, want the cause %v", lines, cause)
		}
	}
}
