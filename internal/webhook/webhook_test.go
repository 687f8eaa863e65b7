package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/prometheus/client_golang/prometheus"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/logtest"
	"github.com/plantstore/plantstore/internal/testing/metricstest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/transfer"
)

const (
	newSecret = "whsec_bmV3IHNlY3JldCBvZiAyNCBieXRlcyBvciBtb3Jl"
	oldSecret = "whsec_b2xkIHNlY3JldCBvZiAyNCBieXRlcyBvciBtb3Jl"
)

// setup is a service, a receiver and the relay between them.
type setup struct {
	*Relay
	t        *testing.T
	service  *clienttest.Server
	client   *client.Client
	log      logtest.Log
	respond  http.HandlerFunc // of the receiver; after the webhook was verified
	many     bool             // too many webhooks to verify them
	mu       sync.Mutex
	got      []string // webhook-id and type of each attempt
	at       []time.Time
	saved    []client.Position
	rejected []string
}

func newSetup(t *testing.T) *setup {
	t.Parallel()
	s := &setup{t: t, service: clienttest.New(t)}
	s.client = s.service.Client()
	receiver := httptest.NewServer(http.HandlerFunc(s.receive))
	t.Cleanup(receiver.Close)
	service, err := transfer.NewService(s.service.URL, s.service.ReadToken)
	must.NoError(t, err)
	secrets, err := ParseSecrets(newSecret + "\n" + oldSecret + "\n")
	must.NoError(t, err)
	s.Relay = &Relay{
		Service: service, Restart: true, URL: receiver.URL + "/secret-path", Secrets: secrets, Timeout: wait.Limit,
		Retry: []time.Duration{time.Millisecond, time.Millisecond}, Concurrency: 1, HTTP: http.DefaultTransport,
		Log: slog.New(slog.NewJSONHandler(&s.log, nil)),
		Save: func(p client.Position) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.saved = append(s.saved, p)
			return nil
		},
		Reject: func(e Event, _ int) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.rejected = append(s.rejected, e.ID)
			return nil
		},
	}
	return s
}

var document = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(api.Document) })

// verify checks the signatures of a webhook, and its body with the document. It returns the type.
func (s *setup) verify(r *http.Request) (kind string) {
	body, err := io.ReadAll(r.Body)
	expect.NoError(s.t, err)
	for _, secret := range []string{newSecret, oldSecret} {
		verifier, err := standardwebhooks.NewWebhook(secret)
		must.NoError(s.t, err)
		expect.NoError(s.t, verifier.Verify(body, r.Header))
	}
	doc, err := document()
	must.NoError(s.t, err)
	var event map[string]any
	expect.NoError(s.t, json.Unmarshal(body, &event))
	kind, _ = event["type"].(string)
	schema := doc.Components.Schemas[map[string]string{"plant.changed": "PlantChanged", "plant.deleted": "PlantDeleted"}[kind]]
	expect.NoError(s.t, schema.Value.VisitJSON(event, openapi3.VisitAsResponse()))
	if data, _ := event["data"].(map[string]any); kind == "plant.changed" && event["timestamp"] != data["updated_at"] {
		s.t.Errorf("the timestamp is not updated_at: %s", body)
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Authorization") != "" {
		s.t.Errorf("the request is %s %v", r.Method, r.Header)
	}
	return kind
}

func (s *setup) receive(w http.ResponseWriter, r *http.Request) {
	kind := ""
	if !s.many {
		kind = s.verify(r)
	}
	s.mu.Lock()
	s.got = append(s.got, r.Header.Get("webhook-id")+" "+kind)
	s.at = append(s.at, time.Now())
	s.mu.Unlock()
	if s.respond != nil {
		s.respond(w, r)
	}
}

func (s *setup) put(id int64, name string) client.Plant {
	s.t.Helper()
	p, err := s.client.Put(s.t.Context(), client.Plant{ID: id, Name: name})
	must.NoError(s.t, err)
	return p
}

// run runs the relay until a condition holds, and returns the error of Run.
func (s *setup) run(after client.Position, until string, holds func() bool) error {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, after) }()
	var err error
	over := false
	wait.Until(s.t, until, func() bool {
		select {
		case err = <-ended:
			over = true
		default:
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return over || holds()
	})
	if !over {
		cancel()
		err = wait.For(s.t, "the end of the relay", ended)
	}
	return err
}

func (s *setup) metrics() map[string]float64 {
	return metricstest.Of(s.t, []prometheus.Collector{s.Relay})
}

// attempts runs the relay until so many attempts have arrived.
func (s *setup) attempts(n int) {
	s.t.Helper()
	must.NoError(s.t, s.run("", "the attempts", func() bool { return len(s.got) >= n }))
}

// A plant that is changed and one that is deleted arrive, signed with each secret. The position is after both.
func TestEvents(t *testing.T) {
	s := newSetup(t)
	now, err := s.client.Now(t.Context())
	must.NoError(t, err)
	s.put(1, "Ficus <&> \u2028")
	p := s.put(-2, "Ilex")
	must.NoError(t, s.client.Delete(t.Context(), 1))
	var changes []client.Change
	for c, err := range s.client.ChangesUntilNow(t.Context(), now) {
		must.NoError(t, err)
		changes = append(changes, c)
	}
	must.NoError(t, s.run(now, "the changes", func() bool { return len(s.got) == 3 }))
	deletion := "plant_1_" + string(changes[2].Position)
	want := []string{
		"plant_1_" + string(changes[0].Position) + " plant.deleted", // the feed tells the present state
		"plant_-2_" + string(p.ETag) + " plant.changed",
		deletion + " plant.deleted",
	}
	if !slices.Equal(s.got, want) {
		t.Errorf("the receiver got %q, want %q", s.got, want)
	}
	if last := s.saved[len(s.saved)-1]; last != changes[2].Position {
		t.Errorf("the position is %s, want %s", last, changes[2].Position)
	}
	series := s.metrics()
	if series["plantstore_webhook_delivered_total"] != 3 || series["plantstore_webhook_failed_attempts_total"] != 0 ||
		series["plantstore_webhook_oldest_undelivered_seconds"] != 0 {
		t.Errorf("the metrics are %v", series)
	}
}

func (s *setup) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

// The position stays before an event that is not delivered, while others are, at most windowSize of them.
func TestPositionStays(t *testing.T) {
	must.HaveTime(t)
	s := newSetup(t)
	s.Concurrency, s.many = 8, true
	for first := range int64((windowSize + 2000) / 1000) {
		plants := make([]client.Plant, 1000)
		for i := range plants {
			plants[i] = client.Plant{ID: 1000*first + int64(i), Name: "plant"}
		}
		_, err := s.client.CreateBatch(t.Context(), plants)
		must.NoError(t, err)
	}
	stuck := make(chan struct{})
	release := sync.OnceFunc(func() { close(stuck) })
	defer release() // also if the test fails: the receiver waits for its responses
	s.respond = func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("webhook-id"), "plant_10_") {
			<-stuck
		}
	}
	var before client.Position
	for c, err := range s.client.ChangesUntilNow(t.Context(), "") {
		must.NoError(t, err)
		if c.ID == 9 {
			before = c.Position
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended, began := make(chan error, 1), time.Now()
	go func() { ended <- s.Run(ctx, "") }()
	read := func() int {
		s.Relay.mu.Lock()
		defer s.Relay.mu.Unlock()
		return len(s.window)
	}
	wait.Until(t, "the window is full", func() bool { return read() == windowSize })
	full := s.count()
	// One of the queues waits.
	wait.Until(t, "most of the window is delivered", func() bool { return s.count() > windowSize/2 })
	if n := read(); n != windowSize || full > windowSize+10 {
		t.Errorf("%d changes are in memory, %d attempts arrived", n, full)
	}
	s.mu.Lock()
	if last := s.saved[len(s.saved)-1]; last != before {
		t.Errorf("the position is %s, want %s", last, before)
	}
	s.mu.Unlock()
	if age := s.metrics()["plantstore_webhook_oldest_undelivered_seconds"]; age <= 0 {
		t.Errorf("the oldest event is %v s old", age)
	}
	release()
	wait.Until(t, "the rest", func() bool { return s.count() == windowSize+2000 })
	cancel()
	must.NoError(t, wait.For(t, "the end of the relay", ended))
	if most := int(time.Since(began)/saveEvery) + 1; len(s.saved) > most {
		t.Errorf("the position was stored %d times, want at most %d", len(s.saved), most)
	}
}

// After a position that is not valid, the relay begins again with all plants, or ends.
func TestPositionGone(t *testing.T) {
	s := newSetup(t)
	other, err := clienttest.New(t).Client().Now(t.Context())
	must.NoError(t, err)
	p := s.put(1, "first")
	must.NoError(t, s.run(other, "all plants", func() bool { return len(s.got) == 1 }))
	if want := "plant_1_" + string(p.ETag) + " plant.changed"; s.got[0] != want {
		t.Errorf("the receiver got %s, want %s", s.got[0], want)
	}
	s = &setup{t: t, Relay: &Relay{Service: s.Service, Concurrency: 1, Save: s.Save, Log: s.Log}}
	err = s.run(other, "the end", func() bool { return false })
	if _, ok := errors.AsType[transfer.PositionError](err); !ok {
		t.Errorf("Run = %v, want a PositionError", err)
	}
}

// While the service is not available, the log says so, at most every five seconds. Then the relay goes on.
func TestServiceAway(t *testing.T) {
	s := newSetup(t)
	s.put(1, "first")
	s.service.FailWhere(func(r *http.Request) bool { return r.URL.Path == "/changes" }, 1, clienttest.Unavailable)
	began := time.Now()
	must.NoError(t, s.run("", "the plant", func() bool { return len(s.got) == 1 }))
	most := int(time.Since(began)/(5*time.Second)) + 1
	text := s.log.String()
	if n := strings.Count(text, `"msg":"waiting for the service"`); n < 1 || n > most || !strings.Contains(text, "503 Service Unavailable") {
		t.Errorf("the log is %s, want at most %d lines with the reason", text, most)
	}
}

// A position that cannot be stored is stored later; the events go on.
func TestSaveFails(t *testing.T) {
	s := newSetup(t)
	save, fails := s.Save, 3
	s.Save = func(p client.Position) error {
		if fails--; fails >= 0 {
			return errors.New("no space")
		}
		return save(p)
	}
	s.put(1, "first")
	must.NoError(t, s.run("", "the position", func() bool { return len(s.saved) > 0 && s.saved[len(s.saved)-1] != "" }))
	if text := s.log.String(); !strings.Contains(text, "no space") {
		t.Errorf("the log is %s", text)
	}
}

// Secrets are as the standard writes them. An error does not quote them.
func TestParseSecrets(t *testing.T) {
	for _, text := range []string{
		"", "\n\n", "c2VjcmV0", strings.TrimPrefix(newSecret, "whsec_"), newSecret + "!", "whsec_c2hvcnQ=", "whsec_" + strings.Repeat("QUFB", 30),
		newSecret + "\n\n" + oldSecret, newSecret + " " + oldSecret,
	} {
		secrets, err := ParseSecrets(text)
		expect.Message(t, "ParseSecrets", err, "is not a secret")
		if secrets != nil || err != nil && (strings.Contains(err.Error(), "c2") || strings.Contains(err.Error(), "bmV3")) {
			t.Errorf("ParseSecrets(%q) = %q, %v", text, secrets, err)
		}
	}
	secrets, err := ParseSecrets(" " + newSecret + "\r\n" + oldSecret + "\n")
	if err != nil || len(secrets) != 2 || !bytes.HasPrefix(secrets[1], []byte("old secret")) {
		t.Errorf("ParseSecrets = %q, %v", secrets, err)
	}
}

func TestCheckURL(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com/a?b=c": "", "http://localhost:1/a": "", "http://127.0.0.9:1": "", "http://[::1]:1/a": "",
		"http://example.com": "must begin with https", "http://10.0.0.1": "must begin with https", "http://localhost.example.com": "must begin with https",
		"": "must be a URL", "ftp://example.com": "must be a URL", "https://": "must be a URL", "https://secret:secret@example.com": "must be a URL",
		"https://example.com:secret": "must be a URL", "secret": "must be a URL",
	} {
		err := CheckURL(address, false)
		if want == "" {
			expect.NoError(t, err)
			continue
		}
		expect.Message(t, "CheckURL of "+address, err, want)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("CheckURL(%q) = %v", address, err)
		}
	}
	expect.NoError(t, CheckURL("http://example.com", true))
}
