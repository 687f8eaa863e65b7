package scenario

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// listed is an engine of a list with pages: what it reads is in Path.
type listed struct {
	Engine
	pages []string
	sent  []string
}

func (l *listed) Named(wrong error) error { return wrong }

func (l *listed) Do(Call, Expectation) (Interaction, error) {
	return l.Send(Request{Path: l.pages[0]}, Accepted)
}

func (l *listed) Send(request Request, _ Expectation) (Interaction, error) {
	l.sent = append(l.sent, request.Path)
	if request.Path == "wrong" {
		return Interaction{}, errWrong
	}
	page := Interaction{Path: request.Path, URL: "http://x" + request.Path, Header: http.Header{}}
	if next := slices.Index(l.pages, request.Path) + 1; next > 0 && next < len(l.pages) {
		page.Header.Set("Link", "<"+l.pages[next]+">; rel=next")
	}
	return page, nil
}

func (l *listed) Draw(things ...*Thing) { things[0].ID = "drawn" }

func (l *listed) Create(thing *Thing) error {
	thing.ID = "created"
	return map[string]error{"wrong": errWrong}[thing.Creator]
}

func (l *listed) CreateIfPossible(thing *Thing) { thing.Missing = true }

func (l *listed) Beside() (Engine, func() error) {
	return &listed{pages: l.pages}, func() error { return nil }
}

var errWrong = errors.New("wrong")

// What a method expects and does not find ends the test, and nothing after it runs.
func TestTry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		test func(*Trial)
		want error
	}{
		"all is right":         {func(t *Trial) { t.Require(true, "") }, nil},
		"something is not so":  {func(t *Trial) { t.Require(false, "a %d", 1) }, Broken{Rank: Behaviour, Message: "a 1"}},
		"it is not tested":     {func(t *Trial) { t.NotTested("why") }, NotTested("why")},
		"a request is refused": {func(t *Trial) { t.Send(Request{Path: "wrong"}, Expectation{}) }, errWrong},
		"a call is refused":    {func(t *Trial) { t.Do(Call{}, Expectation{}) }, errWrong},
		"a check fails":        {func(t *Trial) { t.Check(errWrong) }, errWrong},
		"a create is refused":  {func(t *Trial) { t.Create(&Thing{}, &Thing{Creator: "wrong"}) }, errWrong},
		"a part is refused":    {func(t *Trial) { t.Attempt(func(t *Trial) { t.Check(errWrong) }) }, nil},
		"nobody knows":         {func(t *Trial) { t.Undecided("is it?") }, Undecided{NotTested("is it?")}},
	} {
		goesOn := false
		got := Try(&listed{pages: []string{"wrong"}}, func(t *Trial) {
			c.test(t)
			goesOn = true
		})
		if !errors.Is(got, c.want) || goesOn != (c.want == nil) {
			t.Errorf("%s: it ends with %v, and goes on: %v", name, got, goesOn)
		}
	}
}

// Things are given identities, created, or made missing.
func TestThings(t *testing.T) {
	t.Parallel()
	var drawn, created, missing Thing
	sent := false
	err := Try(&listed{}, func(t *Trial) {
		t.Draw(&drawn)
		t.Create(&created)
		t.CreateIfPossible(&missing)
		t.Attempt(func(*Trial) { sent = true })
	})
	if drawn.ID != "drawn" || created.ID != "created" || !missing.Missing || !sent || err != nil {
		t.Errorf("%v was drawn, %v created, missing: %v, part run: %v; %v", drawn.ID, created.ID, missing.Missing, sent, err)
	}
}

// Pages are read as long as the test wants more, and there are more.
func TestPages(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[int]string{1: "/a", 2: "/a /b", 9: "/a /b /c"} {
		engine := &listed{pages: []string{"/a", "/b", "/c"}}
		err := Try(engine, func(t *Trial) {
			seen := 0
			for range t.Pages("list", nil) {
				if seen++; seen == wanted {
					return
				}
			}
		})
		if got := strings.Join(engine.sent, " "); got != want || err != nil {
			t.Errorf("of %d pages %q are read, %v; want %q", wanted, got, err, want)
		}
	}
}

// A page that leads out of the service ends the test.
func TestPagesElsewhere(t *testing.T) {
	t.Parallel()
	engine := &listed{pages: []string{"/a", "http://other.example/b"}}
	err := Try(engine, func(t *Trial) {
		for range t.Pages("list", nil) {
		}
	})
	if got := strings.Join(engine.sent, " "); got != "/a" || err == nil {
		t.Errorf("%q are read, %v", got, err)
	}
}

// The last of some functions uses the engine of the test, and its error counts before those of the others.
func TestTogether(t *testing.T) {
	t.Parallel()
	sends := func(path string) func(*Trial) { return func(t *Trial) { t.Send(Request{Path: path}, Expectation{}) } }
	fails := func(t *Trial) { t.NotTested("why") }
	for name, c := range map[string]struct {
		functions []func(*Trial)
		want      error
	}{
		"one":              {[]func(*Trial){sends("a")}, nil},
		"both right":       {[]func(*Trial){sends("b"), sends("a")}, nil},
		"one beside":       {[]func(*Trial){sends("wrong"), sends("a")}, errWrong},
		"both, the second": {[]func(*Trial){sends("wrong"), fails}, NotTested("why")},
	} {
		engine := &listed{}
		if got := Try(engine, func(t *Trial) { t.Together(c.functions...) }); !errors.Is(got, c.want) || slices.Contains(engine.sent, "b") {
			t.Errorf("%s: it ends with %v after %q", name, got, engine.sent)
		}
	}
}
