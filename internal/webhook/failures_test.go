package webhook

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// Whatever the receiver does, the event is sent again, with the same id and a new signature, before the next one of the plant.
func TestFailures(t *testing.T) {
	status := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		}
	}
	for name, c := range map[string]struct {
		fail http.HandlerFunc
		log  string
	}{
		"a failure":                {status(500), "500 Internal Server Error"},
		"a redirect":               {status(302, "Location", "/elsewhere"), "302 Found"},
		"a permanent redirect":     {status(308, "Location", "/elsewhere"), "308 Permanent Redirect"},
		"not modified":             {status(304), "304 Not Modified"},
		"no such path":             {status(404), "404 Not Found"},
		"no valid Retry-After":     {status(503, "Retry-After", "soon"), "503 Service Unavailable"},
		"a connection that is cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "no response from the receiver: EOF"},
		"no response":              {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no response from the receiver: none within 100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t)
			if name == "no response" {
				s.Timeout = 100 * time.Millisecond
			}
			p := s.put(1, "first")
			second := ""
			s.respond = func(w http.ResponseWriter, r *http.Request) {
				switch s.count() {
				case 1, 2:
					c.fail(w, r)
				case 3:
					etag := s.put(1, "second").ETag
					s.mu.Lock()
					defer s.mu.Unlock()
					second = "plant_1_" + string(etag) + " plant.changed"
				}
			}
			must.NoError(t, s.run("", "the second event", func() bool { return len(s.got) > 0 && s.got[len(s.got)-1] == second }))
			first := "plant_1_" + string(p.ETag) + " plant.changed"
			if name == "no response" { // on a slow machine the third attempt may get none, too
				s.got = slices.Concat(s.got[:3], s.got[len(s.got)-1:])
			}
			if want := []string{first, first, first, second}; !slices.Equal(s.got, want) {
				t.Errorf("the receiver got %q, want %q", s.got, want)
			}
			if text := s.log.String(); !strings.Contains(text, c.log) || strings.Contains(text, "secret") || !strings.Contains(text, `"attempt":1`) {
				t.Errorf("the log is %s, want %q and no secret", text, c.log)
			}
			failed := s.metrics()["plantstore_webhook_failed_attempts_total"]
			if failed != 2 && name != "no response" || failed < 2 {
				t.Errorf("%v attempts have failed, want 2\n%s", failed, s.log.String())
			}
		})
	}
}

// Retry-After keeps all events back, also one that failed before, and waits for its next attempt.
func TestRetryAfter(t *testing.T) {
	s := newSetup(t)
	s.Concurrency = 100 // so that two plants are hardly ever in the same queue
	s.Retry = []time.Duration{200 * time.Millisecond}
	s.put(1, "first")
	s.put(2, "second")
	var asked time.Time
	s.respond = func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		id := r.Header.Get("webhook-id") + " plant.changed"
		switch again := slices.Index(s.got, id) != len(s.got)-1; {
		case again:
		case strings.HasPrefix(id, "plant_1_"):
			w.WriteHeader(http.StatusInternalServerError)
		default:
			asked = time.Now()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	s.attempts(4)
	for i := range 2 {
		if early := s.at[2+i].Sub(asked); early > 0 && early < 900*time.Millisecond {
			t.Errorf("%s came %v after the receiver has asked to wait", s.got[2+i], early)
		}
	}
}

// A receiver cannot ask for a pause of more than a day.
func TestRetryAfterAtMost(t *testing.T) {
	s := newSetup(t)
	s.many = true
	s.respond = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "99999999999999999999")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if status, pause, err := s.Send(t.Context(), Event{ID: "plant_1_a"}); status != 503 || pause != 24*time.Hour || err == nil {
		t.Errorf("Send = %d, %v, %v, want 503 and a day", status, pause, err)
	}
}

// An event that is refused for good is rejected after all pauses, and the position moves on. Until that works, and
// without a file, it is sent again without an end, as is an event whose failure may be temporary.
func TestReject(t *testing.T) {
	const pauses = 2
	t.Run("rejects", func(t *testing.T) {
		s := newSetup(t)
		first, second := s.put(1, "first"), s.put(2, "second")
		s.respond = func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("webhook-id"), "plant_1_") {
				w.WriteHeader(http.StatusUnprocessableEntity)
			}
		}
		s.Retry[1] = 150 * time.Millisecond // the log has at most one line in 100 ms
		fails := 2
		reject := s.Reject
		s.Reject = func(e Event, status int) error {
			if fails--; fails >= 0 || status != http.StatusUnprocessableEntity {
				return errors.New("no space")
			}
			return reject(e, status)
		}
		s.attempts(1 + pauses + 2 + 1)
		id := "plant_1_" + string(first.ETag)
		tries := 0
		for _, got := range s.got {
			if got == id+" plant.changed" {
				tries++
			}
		}
		if tries != 1+pauses+2 {
			t.Errorf("%d attempts, want one, %d after the pauses, and 2 while Reject fails", tries, pauses)
		}
		if !slices.Equal(s.rejected, []string{id}) || s.got[len(s.got)-1] != "plant_2_"+string(second.ETag)+" plant.changed" {
			t.Errorf("rejected is %q, the last attempt %q", s.rejected, s.got[len(s.got)-1])
		}
		if text := s.log.String(); !strings.Contains(text, "no space") || !strings.Contains(text, "change rejected") {
			t.Errorf("the log is %s", text)
		}
	})
	for _, status := range []int{http.StatusBadRequest, 308, 408, 425, 429, 500} {
		t.Run("repeats "+http.StatusText(status), func(t *testing.T) {
			s := newSetup(t)
			if status == http.StatusBadRequest {
				s.Reject = nil
			}
			s.put(1, "first")
			s.respond = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
			began := time.Now()
			s.attempts(20)
			most := int(time.Since(began)/(100*time.Millisecond)) + 1
			if lines := strings.Count(s.log.String(), "\n"); lines < 1 || lines > most {
				t.Errorf("the log has %d lines, want at most %d", lines, most)
			}
			if len(s.rejected) > 0 || len(s.saved) > 0 && s.saved[len(s.saved)-1] != "" {
				t.Errorf("rejected is %q, the positions %q", s.rejected, s.saved)
			}
		})
	}
}

// A receiver that wants no more webhooks gets none.
func TestGone(t *testing.T) {
	s := newSetup(t)
	s.put(1, "first")
	s.put(2, "second")
	s.respond = func(w http.ResponseWriter, _ *http.Request) {
		if s.count() == 2 {
			w.WriteHeader(http.StatusGone)
		}
	}
	expect.Error(t, "Run", s.run("", "the end", func() bool { return false }), ErrGone)
	if s.count() != 2 || len(s.saved) == 0 {
		t.Errorf("%d attempts, want 2; the positions are %q", s.count(), s.saved)
	}
}
