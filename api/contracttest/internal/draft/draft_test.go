package draft

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/lessons"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/internal/world"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// libraryDocument has shelves, whose code the client chooses; books on them, of which the service assigns the id; notes,
// of which only Location has the id; labels, which PUT creates; and lists, whose body is no object.
//
//go:embed testdata/library.yaml
var libraryDocument string

// library is what is known of the service of libraryDocument. The options may declare resources. The document is read each time:
// resources.Find writes into it what bodies wrap.
func library(t *testing.T, declared ...scenario.Resource) *Drafts {
	t.Helper()
	read, err := document.Parse([]byte(libraryDocument))
	must.NoError(t, err)
	generator := values.New(values.Settings{Values: map[string]string{"X-Note": "given"}})
	found := resources.Find(read, generator, resources.Declarations{Resources: declared})
	known := world.New(read, found)
	return &Drafts{
		Document:  read,
		Judge:     judge.New(read, nil, judge.Settings{}),
		Resources: found,
		World:     known,
		Lessons:   lessons.New(known, generator),
		Values:    generator,
	}
}

// response is what a service responds with.
type response struct {
	status   int
	body     string
	location string
	etag     string
}

// player sends the requests of a draft, as package run does, to a service that responds as told. The last response is
// repeated.
type player struct {
	scenario.Engine
	draft     *Draft
	responses []response
	sent      []string // requests in one line
	requests  []scenario.Request
	last      scenario.Interaction
}

// play runs a test, and returns what ends it.
func (p *player) play(test func(*Trial)) error {
	return scenario.Try(p, func(t *scenario.Trial) { test(&Trial{Trial: t, Draft: p.draft}) })
}

func (p *player) Draw(things ...*scenario.Thing) { p.draft.Draw(things...) }

func (p *player) Named(wrong error) error { return wrong }

func (p *player) Create(thing *scenario.Thing) error {
	x := p.draft.Resources.CreatedBy(thing.Creator)
	if parent := p.draft.Parent(x, thing); parent != nil {
		if err := p.Create(parent); err != nil {
			return err
		}
	}
	creation, err := p.draft.Creation(x, thing)
	if err != nil {
		return err
	}
	body := creation.Body
	got, err := p.Do(scenario.Call{Operation: x.Create.ID, Of: x.Target(thing), Body: body}, scenario.Accepted)
	if creation.Least != nil && got.Status >= http.StatusBadRequest {
		body = creation.Least
		got, err = p.Do(scenario.Call{Operation: x.Create.ID, Of: x.Target(thing), Body: body}, scenario.Accepted)
	}
	if err != nil {
		return err
	}
	lost, err := p.draft.HasCreated(x, thing, body, got)
	return errors.Join(append(lost, err)...)
}

func (p *player) Do(call scenario.Call, expect scenario.Expectation) (got scenario.Interaction, err error) {
	etag := ""
	if read, isNeeded := p.draft.ReadBefore(call); isNeeded {
		got, err = p.Do(read, scenario.Expectation{})
		etag = got.Header.Get("ETag")
	}
	request, wrong := p.draft.Request(call, etag)
	if err = cmp.Or(err, wrong); err != nil {
		return got, err
	}
	return p.Send(request, expect)
}

func (p *player) Send(request scenario.Request, expect scenario.Expectation) (scenario.Interaction, error) {
	p.send(request)
	if expect.Success && p.last.Status >= http.StatusBadRequest {
		return p.last, errors.New("refused")
	}
	return p.last, nil
}

// send sends a request, and takes the next response.
func (p *player) send(request scenario.Request) {
	target := request.Path
	if len(request.Query) > 0 {
		target += "?" + strings.Join(request.Query, "&")
	}
	p.sent = append(p.sent, strings.TrimSpace(request.Method+" "+target+" "+string(request.Body)))
	p.requests = append(p.requests, request)
	next := response{status: http.StatusOK}
	if len(p.responses) > 0 {
		next = p.responses[min(len(p.sent), len(p.responses))-1]
	}
	header := http.Header{}
	for name, value := range map[string]string{"ETag": next.etag, "Location": next.location} {
		if value != "" {
			header.Set(name, value)
		}
	}
	p.last = scenario.Interaction{
		Method: request.Method, URL: "http://library.example/api" + target, Path: request.Path,
		RequestHeader: request.Header, RequestBody: request.Body,
		Status: next.status, Header: header, Body: []byte(next.body),
	}
}

// identity finds a number of the generator, which begins at 1,000,001.
var identity = regexp.MustCompile(`1\d{6}`)

// numbered writes #1, #2 and so on in place of the numbers of the generator, in the order in which they come.
func numbered(texts []string) []string {
	var seen []string
	replaced := identity.ReplaceAllStringFunc(strings.Join(texts, "\n"), func(number string) string {
		if !slices.Contains(seen, number) {
			seen = append(seen, number)
		}
		return "#" + strconv.Itoa(slices.Index(seen, number)+1)
	})
	return strings.Split(replaced, "\n")
}

// width finds a number that a test does not look at.
var width = regexp.MustCompile(`"(width|size)":\d+`)

// withoutSizes writes % in place of numbers that differ from each other only by chance.
func withoutSizes(sent []string) (all []string) {
	for _, line := range sent {
		all = append(all, width.ReplaceAllString(line, `"$1":%`))
	}
	return all
}

// text is a value as a message shows it.
func text(value any) string { return fmt.Sprint(value) }

// checkSent reports an error unless these requests were sent.
func checkSent(t *testing.T, got []string, want ...string) {
	t.Helper()
	if got = numbered(got); !slices.Equal(got, append([]string{}, want...)) && strings.Join(got, "") != strings.Join(want, "") {
		t.Errorf("sent\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// message is what an error says, or nothing.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
