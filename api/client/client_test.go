package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
)

// at returns a client of the service at url that pauses only for a moment.
func at(t *testing.T, url string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(url, append([]client.Option{
		client.WithToken("token"),
		client.WithBackoff(func(context.Context, int, error) time.Duration { return time.Microsecond }),
	}, opts...)...)
	must.NoError(t, err)
	return c
}

// handle starts a service that is only a function.
func handle(t *testing.T, f http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

// createMany creates plants with the ids from 0 on, and returns them.
func createMany(t *testing.T, c *client.Client, n int) []client.Plant {
	t.Helper()
	plants := make([]client.Plant, n)
	for i := range plants {
		plants[i] = client.Plant{ID: int64(i), Name: "a", Tag: new("t")}
	}
	for part := range slices.Chunk(plants, 1000) {
		must.NoError(t, second(c.CreateBatch(t.Context(), part)))
	}
	return plants
}

// wantPlant returns a function that fails unless a call returns a plant with this name and this tag.
func wantPlant(t *testing.T, name string, tag *string) func(client.Plant, error) client.Plant {
	return func(got client.Plant, err error) client.Plant {
		t.Helper()
		must.NoError(t, err)
		if got.Name != name || (got.Tag == nil) != (tag == nil) || tag != nil && *got.Tag != *tag {
			t.Fatalf("the plant is %+v, want name %q and tag %v", got, name, tag)
		}
		if got.ETag == "" || got.CreatedAt.IsZero() || got.UpdatedAt.IsZero() {
			t.Fatalf("the plant %+v has no version or no times", got)
		}
		return got
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

// recorder records the method and the path of each request, as the document has them.
type recorder struct {
	next http.RoundTripper
	seen []string
}

func (rec *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	path := regexp.MustCompile(`/-?[0-9]+(/|$)`).ReplaceAllString(r.URL.Path, "/{id}$1")
	rec.seen = append(rec.seen, r.Method+" "+path)
	return rec.next.RoundTrip(r)
}

// wantEveryOperation fails for an operation of the document that has no request: the
// client has no method for it, or the test does not call the method.
func (rec *recorder) wantEveryOperation(t *testing.T) {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	must.NoError(t, err)
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			if !slices.Contains(rec.seen, method+" "+path) && operation.OperationID != "streamChanges" { // the client uses listChanges
				t.Errorf("no request for %s was sent: add a method to api/client/plants.go or list.go, and call it in TestOperations", operation.OperationID)
			}
		}
	}
}

// Every operation, with requests and responses that the document allows.
func TestOperations(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), clienttest.New(t)
	sent := &recorder{next: plantcontract.Plants().Client(t).Transport}
	c := server.Client(client.WithHTTPClient(&http.Client{Transport: sent}))

	ficus := client.Plant{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")}
	for range 2 { // a repeated create is a success
		must.NoError(t, c.Create(ctx, ficus))
	}
	err := c.Create(ctx, client.Plant{ID: 1, Name: "Ficus lyrata"})
	wantError(t, err, client.ErrIDTaken)
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != 400 || e.Code != client.ErrIDTaken || e.RequestID == "" || e.RetryAfter != 0 ||
		len(e.Details) != 1 || e.Details[0] != (client.Detail{
		In: "body", Pointer: "/id", Message: "belongs to another plant", Field: "id", Index: -1, PlantID: 1,
	}) {
		t.Errorf("the error is %+v", e)
	}
	expect.Message(t, "a create of another plant", err,
		"plantstore: create plant 1: another plant has this id: id belongs to another plant (400 Bad Request, error 40010)")

	first := wantPlant(t, "Ficus lyrata", new("Moraceae"))(c.Get(ctx, 1))
	wantError(t, second(c.Get(ctx, 1, client.IfNoneMatch(first.ETag))), client.ErrNotModified)
	wantError(t, second(c.Get(ctx, 2)), client.ErrNoSuchPlant)

	wantPlant(t, "Ficus elastica", new("Moraceae"))(c.Patch(ctx, 1, client.Patch{Name: new("Ficus elastica")}, client.IfMatch(first.ETag)))
	wantError(t, second(c.Patch(ctx, 1, client.Patch{Tag: new("")}, client.IfMatch(first.ETag))), client.ErrPreconditionFailed)
	wantPlant(t, "Ficus elastica", new(""))(c.Patch(ctx, 1, client.Patch{Tag: new("")}, client.IfMatch(client.AnyETag)))
	wantPlant(t, "Ficus elastica", new(""))(c.Patch(ctx, 1, client.Patch{}))
	got := wantPlant(t, "Ficus elastica", nil)(c.Patch(ctx, 1, client.Patch{RemoveTag: true}))

	got.Name = "Ficus carica"
	got = wantPlant(t, "Ficus carica", nil)(c.Put(ctx, got, client.IfMatch(got.ETag)))
	wantError(t, second(c.Put(ctx, client.Plant{ID: 3}, client.IfMatch(client.AnyETag))), client.ErrPreconditionFailed)
	wantPlant(t, "Ficus carica", nil)(c.Put(ctx, got, client.IfMatch("0"), client.IfMatch(got.ETag)))
	wantPlant(t, "", nil)(c.Insert(ctx, client.Plant{ID: -5, Name: ""}))

	created, err := c.CreateBatch(ctx, []client.Plant{{ID: -5}, {ID: 6, Name: "\x00🌱", Tag: new("a")}})
	if want := (client.Created{New: 1, Existing: 1}); created != want || err != nil {
		t.Errorf("CreateBatch = %+v, %v, want %+v", created, err, want)
	}
	wantError(t, second(c.CreateBatch(ctx, []client.Plant{{ID: 7}, {ID: -5, Name: "other"}})), client.ErrIDTaken)
	got = wantPlant(t, "\x00🌱", new("a"))(c.Get(ctx, 6))
	page, err := c.List(ctx)
	if len(page.Plants) != 3 || page.Next != "" || err != nil {
		t.Errorf("List = %+v, %v", page, err)
	}
	for p, err := range c.All(ctx, client.HasTag("a")) {
		wantPlant(t, "\x00🌱", new("a"))(p, err)
	}
	for p, err := range c.All(ctx, client.HasNamePrefix("\x00")) {
		wantPlant(t, "\x00🌱", new("a"))(p, err)
	}
	if n, more, err := c.Count(ctx); n != 3 || more || err != nil {
		t.Errorf("Count = %d, %t, %v, want 3", n, more, err)
	}
	if token, err := c.Token(ctx); !slices.Equal(token.Scopes, []string{"read", "write"}) || err != nil {
		t.Errorf("Token = %+v, %v, want both scopes", token, err)
	}
	if tags, err := collect(c.Tags(ctx, "")); fmt.Sprint(tags) != "[a]" || err != nil {
		t.Errorf("Tags is %q, %v, want a", tags, err)
	}

	wantError(t, c.Delete(ctx, 6, client.IfMatch(first.ETag)), client.ErrPreconditionFailed)
	expect.NoError(t, c.Delete(ctx, 6, client.IfMatch(got.ETag)))
	wantError(t, c.Delete(ctx, 6), client.ErrNoSuchPlant)
	for change, err := range c.ChangesUntilNow(ctx, "") {
		if err != nil || change.Plant == nil || change.Plant.ID != change.ID || change.Position == "" {
			t.Errorf("the change is %+v, %v", change, err)
		}
	}
	for entry, err := range c.History(ctx, 6) {
		wantPlant(t, "\x00🌱", new("a"))(entry.Plant, err)
	}
	sent.wantEveryOperation(t)

	for token, want := range map[string]error{
		server.WriteToken: client.ErrInsufficientScope, "": client.ErrNoCredentials, "unknown": client.ErrBadCredentials,
	} {
		other := server.Client(client.WithToken(token))
		wantError(t, second(other.Get(ctx, 1)), want)
		_, _, err := other.Count(ctx)
		wantError(t, err, want)
	}
	wantError(t, second(server.Client(client.WithToken("unknown")).Token(ctx)), client.ErrBadCredentials)
}

// Any text is stored as it is. It is sent in as few bytes as JSON allows, or a
// plant that fits into a request would not fit any more.
func TestText(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), clienttest.New(t)
	c := server.Client()
	for _, name := range []string{
		"", "\x00\x1f\x7f\"\\/", "<&>", "\u2028\u2029", `\u2028`, `\\u2028` + "\u2028", "\ufeff\ufffd\U0010ffff",
		strings.Repeat("\u2028", 1000), strings.Repeat("<", 1000), strings.Repeat("🌵", 1000),
	} {
		if err := c.Create(ctx, client.Plant{ID: 1, Name: name}); err != nil {
			t.Fatalf("%.20q: %v", name, err)
		}
		for got, err := range c.All(ctx) {
			wantPlant(t, name, nil)(got, err)
		}
		must.NoError(t, c.Delete(ctx, 1))
	}
}

// CreateBatch says what is new, as far as that is known.
func TestCreated(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), clienttest.New(t)
	c := server.Client()
	plants := []client.Plant{{ID: 1}, {ID: 2}, {ID: 3}}
	for _, step := range []struct {
		plants int
		fault  clienttest.Fault
		want   client.Created
	}{
		{1, clienttest.TooManyRequests, client.Created{New: 1}},
		{2, clienttest.Cut, client.Created{Unknown: 2}},
		{2, clienttest.Refuse, client.Created{Existing: 2}},
		{3, clienttest.Unavailable, client.Created{New: 1, Unknown: 2}},
	} {
		server.Fail(1, step.fault)
		got, err := c.CreateBatch(ctx, plants[:step.plants])
		if got != step.want || err != nil {
			t.Errorf("CreateBatch of %d plants = %+v, %v, want %+v", step.plants, got, err, step.want)
		}
	}
}

// Insert creates a plant only if the id is free, and says so only if it is known.
func TestInsert(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), clienttest.New(t)
	c := server.Client()
	ficus := client.Plant{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")}
	first := wantPlant(t, "Ficus lyrata", new("Moraceae"))(c.Insert(ctx, ficus))
	for _, p := range []client.Plant{ficus, {ID: 1, Name: "Ficus carica"}} {
		_, err := c.Insert(ctx, p)
		wantError(t, err, client.ErrIDTaken)
		expect.Message(t, "an id that is taken", err, "plantstore: insert plant 1: another plant has this id: ")
		if errors.Is(err, client.ErrOutcomeUnknown) {
			t.Errorf("the error is %v", err)
		}
	}
	if now := wantPlant(t, "Ficus lyrata", new("Moraceae"))(c.Get(ctx, 1)); now.ETag != first.ETag {
		t.Errorf("the version is %s, want %s as Insert returned", now.ETag, first.ETag)
	}

	// A request that was not carried out is sent again.
	for id, fault := range []clienttest.Fault{clienttest.Refuse, clienttest.TooManyRequests, clienttest.Unavailable} {
		server.Fail(2, fault)
		wantPlant(t, "a", nil)(c.Insert(ctx, client.Plant{ID: 10 + int64(id), Name: "a"}))
	}
	// A response is lost. The plant may be of this Insert, or of another client.
	server.Fail(1, clienttest.Cut)
	_, err := c.Insert(ctx, client.Plant{ID: 5, Name: "a"})
	wantError(t, err, client.ErrOutcomeUnknown)
	wantError(t, err, client.ErrPreconditionFailed)
	if errors.Is(err, client.ErrIDTaken) {
		t.Errorf("the plant is our own, but the error is %v", err)
	}
	wantPlant(t, "a", nil)(c.Get(ctx, 5))
	server.Fail(1, clienttest.Unavailable)
	wantError(t, second(c.Insert(ctx, client.Plant{ID: 5, Name: "a"})), client.ErrOutcomeUnknown)
}

// What the service would misunderstand or never get is refused without a request.
func TestRefusedWithoutRequest(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := at(t, handle(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was sent", r.Method, r.URL) }))
	for name, err := range map[string]error{
		"name":      c.Create(ctx, client.Plant{Name: "\xff"}), // TestEveryMember has the others
		"two ETags": c.Delete(ctx, 1, client.IfMatch(`a", "b`)),
		"line":      c.Delete(ctx, 1, client.IfMatch("a\r\nb")),
		"no ETag":   second(c.Put(ctx, client.Plant{}, client.IfMatch(client.Plant{}.ETag))),
		"no place":  second(c.List(ctx, client.Continue("tag=a"))),
		"token":     second(at(t, "http://127.0.0.1:1", client.WithToken("a b")).Get(ctx, 1)),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "plantstore: ") || errors.Is(err, client.ErrOutcomeUnknown) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	for _, url := range []string{
		"", "plants.example.com", "plants.example.com:8080", "ftp://a", "http://", "http://a?b", "http://a#b", "http://me:secret@a", "http://a\n",
		"127.0.0.1:8080", "localhost:8080", "http://me:secret@a:b", "http://me:%secret@a",
	} {
		_, err := client.New(url)
		if err == nil || !strings.Contains(err.Error(), "the base URL must ") || strings.Contains(err.Error(), "%se") || strings.Contains(err.Error(), "secret") {
			t.Errorf("New(%q) = %v", url, err)
		}
	}
	if _, err := client.New("http://a", client.WithAttempts(0)); err == nil {
		t.Error("New with no attempts has no error")
	}
}

func second[T any](_ T, err error) error { return err }

// A token can change, and each attempt has the present one.
func TestTokenFunc(t *testing.T) {
	t.Parallel()
	var got []string
	url := handle(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"), r.Header.Get("User-Agent"), r.Header.Get("Traceparent"))
		w.WriteHeader(http.StatusTooManyRequests)
	})
	type key struct{}
	calls := 0
	c := at(t, url, client.WithAttempts(2), client.WithUserAgent("garden/1"),
		client.WithTraceparent(func(ctx context.Context) string { return ctx.Value(key{}).(string) }),
		client.WithTokenFunc(func(context.Context) (string, error) { calls++; return fmt.Sprint("token", calls), nil }))
	err := c.Delete(context.WithValue(t.Context(), key{}, "00-1-2-00"), 1)
	if want := "Bearer token1 garden/1 00-1-2-00 Bearer token2 garden/1 00-1-2-00"; strings.Join(got, " ") != want {
		t.Errorf("the headers are %q, want %q", got, want)
	}
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 429 {
		t.Errorf("the error is %v", err)
	}
	failure := errors.New("no token today")
	c = at(t, url, client.WithTokenFunc(func(context.Context) (string, error) { return "", failure }))
	err = c.Delete(t.Context(), 1)
	wantError(t, err, failure)
	if errors.Is(err, client.ErrOutcomeUnknown) {
		t.Errorf("nothing was sent, but the error is %v", err)
	}
}
