// Package webhook sends the changes of a service to a receiver, signed as Standard Webhooks
// (https://www.standardwebhooks.com) say.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantjson"
	"github.com/plantstore/plantstore/internal/backoff"
	"github.com/plantstore/plantstore/internal/transfer"
)

const (
	// windowSize is how many changes are in memory at most: the oldest one that is not delivered, and those after it,
	// delivered or not. After a crash they are sent again.
	windowSize = 10_000

	// saveEvery is the time between two writes of the position.
	saveEvery = 100 * time.Millisecond

	// maxRetryAfter is the longest pause that a receiver can ask for: the longest one of the standard.
	maxRetryAfter = 24 * time.Hour
)

// ErrGone means that the receiver has responded with 410.
var ErrGone = errors.New("the receiver responded with 410 Gone: it wants no more webhooks")

// Relay delivers each change at least once, and the changes of a plant in their order. It collects its own metrics.
type Relay struct {
	Service     *transfer.Service
	Restart     bool          // begin again with all plants if the position is not valid any more
	URL         string        // of the receiver; it may be secret, so no error has it
	Secrets     [][]byte      // each of them signs
	Timeout     time.Duration // of an attempt
	Retry       []time.Duration
	Concurrency int               // events that are sent at the same time
	HTTP        http.RoundTripper // not [http.Client], which follows redirects and has the URL in its errors
	Log         *slog.Logger

	// Save stores the position up to which everything was delivered. It may be called again with the same one.
	Save func(client.Position) error
	// Reject stores an event that is refused after all of Retry. If it is nil or fails, the event is sent again.
	Reject func(e Event, status int) error

	lines, waits      rate.Sometimes // of the log: at most ten a second, and one in five seconds
	quiet             atomic.Int64   // the receiver wants no request until then, in Unix nanoseconds
	delivered, failed atomic.Int64   // events and attempts

	position atomic.Pointer[client.Position] // before the first of window
	mu       sync.Mutex
	window   []*delivery         // in the order of the changes
	slots    *semaphore.Weighted // one for each of window
}

// Event is a change as the receiver gets it.
type Event struct {
	ID   string // the header webhook-id
	Body []byte
}

// delivery is an event on its way.
type delivery struct {
	event    Event
	position client.Position
	read     time.Time
	done     bool
}

// NewEvent returns the event of a change that was read at a time.
func NewEvent(c client.Change, read time.Time) Event {
	p := c.Plant
	if p == nil {
		body := plantapi.PlantDeleted{Type: plantapi.TypePlantDeleted, Timestamp: read, Data: plantapi.DeletedPlant{ID: c.ID}}
		return Event{fmt.Sprintf("plant_%d_%s", c.ID, c.Position), plantjson.AppendJSON(nil, &body)}
	}
	body := plantapi.PlantChanged{Type: plantapi.TypePlantChanged, Timestamp: p.UpdatedAt, Data: transfer.StoredPlant(*p)}
	return Event{fmt.Sprintf("plant_%d_%s", c.ID, p.ETag), plantjson.AppendJSON(nil, &body)}
}

// CheckURL returns an error unless events can be sent to a URL: with https unless it is of this machine.
func CheckURL(address string, insecure bool) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("must be a URL without a user, as in https://example.com/plants")
	}
	ip, _ := netip.ParseAddr(u.Hostname())
	if u.Scheme == "http" && !insecure && !ip.IsLoopback() && u.Hostname() != "localhost" {
		return errors.New("must begin with https://, because others can read what is sent with http; --insecure allows it")
	}
	return nil
}

// ParseSecrets reads secrets, one a line, as the standard writes them. An error does not quote them.
func ParseSecrets(text string) (secrets [][]byte, err error) {
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		encoded, ok := strings.CutPrefix(strings.TrimSpace(line), "whsec_")
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(secret) < 24 || len(secret) > 64 {
			return nil, fmt.Errorf("line %d is not a secret: write whsec_ and the base64 of 24 to 64 random bytes, as in "+
				`echo "whsec_$(openssl rand -base64 32)"`, i+1)
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// Describe implements [prometheus.Collector].
func (r *Relay) Describe(descs chan<- *prometheus.Desc) { prometheus.DescribeByCollect(r, descs) }

// Collect implements [prometheus.Collector].
func (r *Relay) Collect(metrics chan<- prometheus.Metric) {
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	send := func(name string, kind prometheus.ValueType, value float64, help string) {
		desc := prometheus.NewDesc("plantstore_webhook_"+name, help, nil, nil)
		metrics <- prometheus.MustNewConstMetric(desc, kind, value)
	}
	r.mu.Lock()
	age := 0.0
	if len(r.window) > 0 {
		age = time.Since(r.window[0].read).Seconds()
	}
	r.mu.Unlock()
	send("delivered_total", counter, float64(r.delivered.Load()), "Changes that the receiver has accepted.")
	send("failed_attempts_total", counter, float64(r.failed.Load()), "Attempts to deliver a change that failed.")
	send("oldest_undelivered_seconds", gauge, age,
		"Time since the oldest change that is not delivered was read, in seconds; 0 if there is none.")
}

// Run delivers what has changed after a position until ctx ends; then it returns nil, after the attempts under way.
// It also ends with [ErrGone] and with an error of the service. It is called once.
func (r *Relay) Run(ctx context.Context, after client.Position) error {
	r.lines.Interval, r.waits.Interval, r.slots = time.Second/10, 5*time.Second, semaphore.NewWeighted(windowSize)
	r.position.Store(&after)
	working, ended := errgroup.WithContext(ctx)
	queues := make([]chan *delivery, r.Concurrency) // the changes of a plant are all in one of them
	for i := range queues {
		queues[i] = make(chan *delivery, windowSize)
		working.Go(func() (err error) {
			for err == nil {
				select {
				case d := <-queues[i]:
					err = r.deliver(ended, d)
				case <-ended.Done():
					err = ended.Err()
				}
			}
			return err
		})
	}
	working.Go(func() error { return r.read(ended, after, queues, maphash.MakeSeed()) })
	working.Go(func() error {
		for backoff.Sleep(ended, saveEvery) {
			if err := r.Save(*r.position.Load()); err != nil {
				r.lines.Do(func() { r.Log.Warn("cannot store the position", "err", err) })
			}
			if wait := r.Service.Waiting(); wait != nil {
				r.waits.Do(func() { r.Log.Warn("waiting for the service", "since", wait.Since, "err", wait.Reason) })
			}
		}
		return nil
	})
	err := working.Wait()
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, r.Save(*r.position.Load()))
}

// read queues what has changed after a position, until there is an error.
func (r *Relay) read(ctx context.Context, after client.Position, queues []chan *delivery, seed maphash.Seed) error {
	for c, err := range r.Service.Changes(ctx, after, true) {
		if _, gone := errors.AsType[transfer.PositionError](err); gone && r.Restart {
			r.Log.Warn("the position is not valid any more: all plants are sent again")
			return r.read(ctx, "", queues, seed) // beside what is queued already
		} else if err != nil {
			return err
		}
		if err := r.slots.Acquire(ctx, 1); err != nil {
			return err
		}
		now := time.Now()
		d := &delivery{event: NewEvent(c, now), position: c.Position, read: now}
		r.mu.Lock()
		r.window = append(r.window, d)
		r.mu.Unlock()
		queues[maphash.Comparable(seed, c.ID)%uint64(len(queues))] <- d // there is a slot, so it does not wait
	}
	return nil
}

// deliver sends an event until it is delivered or rejected, ctx ends or the receiver wants no more.
func (r *Relay) deliver(ctx context.Context, d *delivery) error {
	quiet := func() time.Duration { return time.Until(time.Unix(0, r.quiet.Load())) }
	for attempt, pause := 0, time.Duration(0); backoff.Sleep(ctx, pause) && backoff.Sleep(ctx, quiet()); attempt++ {
		status, wait, err := r.Send(context.WithoutCancel(ctx), d.event)
		if err == nil {
			r.delivered.Add(1)
			r.finish(d)
			return nil
		}
		r.failed.Add(1)
		permanent := status/100 == 4 && !slices.Contains([]int{408, 425, 429}, status)
		switch {
		case errors.Is(err, ErrGone):
			return err
		case permanent && attempt >= len(r.Retry) && r.Reject != nil:
			failed := r.Reject(d.event, status)
			if failed == nil {
				r.Log.Error("change rejected", "webhook_id", d.event.ID, "err", err)
				r.finish(d)
				return nil
			}
			err = errors.Join(err, failed)
		}
		pause = r.Retry[min(attempt, len(r.Retry)-1)]
		if wait > 0 { // for all events
			pause = wait
			r.quiet.Store(time.Now().Add(wait).UnixNano())
		}
		pause += rand.N(pause/10 + 1)
		r.lines.Do(func() {
			r.Log.Warn("delivery failed",
				"webhook_id", d.event.ID, "attempt", attempt+1, "err", err, "retry_seconds", pause.Seconds())
		})
	}
	return ctx.Err()
}

// Send tries once to deliver an event: err is nil after a response with a 2xx status. Otherwise it returns the status,
// or 0 without a response, and how long the response asks to wait.
func (r *Relay) Send(ctx context.Context, e Event) (status int, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("none within %v", r.Timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(e.Body))
	if err != nil {
		return 0, 0, err
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	signatures := make([]string, len(r.Secrets))
	for i, secret := range r.Secrets {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "%s.%s.%s", e.ID, now, e.Body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"plantstore-webhook"},
		"Webhook-Id": {e.ID}, "Webhook-Timestamp": {now}, "Webhook-Signature": {strings.Join(signatures, " ")},
	}
	resp, err := r.HTTP.RoundTrip(req)
	if err != nil {
		return 0, 0, fmt.Errorf("no response from the receiver: %w", cmp.Or(context.Cause(ctx), err))
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	switch {
	case resp.StatusCode == http.StatusGone:
		err = ErrGone
	case resp.StatusCode/100 != 2:
		err = fmt.Errorf("the receiver responded with %s", resp.Status)
	}
	return resp.StatusCode, min(client.RetryAfter(resp.Header, time.Now()), maxRetryAfter), err
}

// finish marks an event as delivered or rejected, and moves the position on.
func (r *Relay) finish(d *delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.done, d.event = true, Event{}
	for len(r.window) > 0 && r.window[0].done {
		r.position.Store(&r.window[0].position)
		r.window = r.window[1:]
		r.slots.Release(1)
	}
}
