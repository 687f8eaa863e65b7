package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/draft"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/judge"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// With two users, tests find what each of them alone would never see: that one gets at what the other one has created (OWASP
// API1, broken object level authorization). A document does not say what is private, and a catalogue that all users
// change looks like notes without protection. So a test accuses a service only where the service itself shows that things
// have an owner (see evidence), and otherwise asks.

// Users are what the options say of a second user. Private and Shared have the operations that create resources.
type Users struct {
	Other           string // its name; empty: there is none
	Private, Shared []string
}

// OfUser returns a planner of the same tests for a user with things of its own.
func (p *Planner) OfUser() *Planner {
	drafts := *p.Drafts
	drafts.World = p.World.OfUser()
	return &Planner{Settings: p.Settings, Drafts: &drafts, members: p.members, made: map[*document.Operation]*operationTests{}}
}

// way is how a user may get at a thing: an operation that lists it, one on it, or one below it.
type way struct {
	*document.Operation
	list  *resources.List // nil: the operation does not list
	verb  string          // what the operation does to the thing, as in "bob reads"
	power int
}

// The powers of ways: how much a user may do by it. A user who may read a thing need not be allowed to change it.
const (
	toList = iota
	toRead
	toCall // below the thing: a comment on it is right, also where only its owner may change it
	toChange
)

func (w way) isChange() bool { return w.power >= toCall }

// waysOn are the ways of the operations on a thing, by method.
var waysOn = []struct {
	method string
	way
}{
	{http.MethodGet, way{verb: "reads", power: toRead}},
	{http.MethodPut, way{verb: "changes", power: toChange}},
	{http.MethodPatch, way{verb: "changes", power: toChange}},
	{http.MethodDelete, way{verb: "deletes", power: toChange}},
}

// waysTo are how a user may get at a thing of a resource.
func (p *Planner) waysTo(x *resources.Resource) (all []way) {
	for _, list := range p.Resources.Lists {
		if list.Resource == x {
			all = append(all, way{Operation: list.ReadBy, list: list, verb: "lists"})
		}
	}
	for _, on := range waysOn {
		if on.Operation = x.Operations[on.method]; on.Operation != nil {
			all = append(all, on.way)
		}
	}
	changing := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	for _, operation := range p.Document.Operations {
		use := p.Resources.UseOf(operation)
		isBelow := use.Named() == x && !use.IsOn(operation)
		if isBelow && slices.Contains(changing, operation.Method) {
			all = append(all, way{Operation: operation, verb: "calls " + operation.ID + " on", power: toCall})
		}
	}
	return all
}

// userTests are the tests of what one user gets at that another one has created. The tests of a resource share what isOpen finds.
func (p *Planner) userTests() (all []Test) {
	for _, x := range p.Resources.All {
		if p.Users.Other == "" || slices.Contains(p.Users.Shared, x.Create.ID) {
			continue
		}
		ways, opened := p.waysTo(x), new(sync.Map)
		for _, by := range ways {
			promise := scenario.Promise{Operation: by.ID, Kind: scenario.KeptFromOthers}
			all = append(all, p.testOf(promise, func(t *draft.Trial) {
				u := &userTest{Trial: t, resource: x, ways: ways, opened: opened, name: p.Users.Other}
				u.owner, u.other, u.anonymous = t.As(scenario.Owner), t.As(scenario.Other), t.As(scenario.Anonymous)
				u.isPrivate = slices.Contains(p.Users.Private, x.Create.ID)
				u.run(by)
			}))
		}
	}
	return all
}

// userTest is a test of a way in one run.
type userTest struct {
	*draft.Trial
	owner, other, anonymous *draft.Trial
	resource                *resources.Resource
	ways                    []way
	opened                  *sync.Map // by the id of an operation: what isOpen has found
	name                    string    // of the other user
	isPrivate               bool
}

// reached is what a user has got at by a way.
type reached struct {
	got scenario.Interaction
	// The response shows the thing, or its owner sees that it has changed.
	hasEffect bool
	item      map[string]any // the thing in a list; nil: the way is no list, or does not have it
}

func (r reached) isSuccess() bool { return r.got.Status/100 == 2 }

// opens reports whether a user has got at a thing of another one; own is what the user has got at by the same way in a thing
// of its own. If a change does not show even there, success is all that is known.
func (r reached) opens(by way, own reached) bool {
	isUnseen := by.isChange() && !own.hasEffect
	return r.isSuccess() && (r.hasEffect || isUnseen)
}

// run fails if both users get at what the other one has created, and the service shows that it should not be so.
func (u *userTest) run(by way) {
	own := u.reach(u.other, u.other, by)
	if !own.opens(by, own) {
		u.NotTested(scenario.NotTested(u.name + " does not get at what it has created itself"))
	}
	if !u.isOpen(by) {
		return
	}
	shown := u.reach(u.owner, u.other, by) // again: it may have been by chance
	if !shown.opens(by, own) {
		return
	}
	why := u.evidence(by, shown)
	if why == "" {
		u.Undecided(u.question())
	}
	cause := scenario.Cause{Kind: scenario.OpenToOthers, Operation: by.ID}
	message := fmt.Sprintf("%s %s what it has not created, but %s", u.name, by.verb, why)
	u.Check(scenario.Broken{Cause: cause, Rank: scenario.Behaviour, Message: message, Shown: &shown.got})
}

// isOpen reports whether each user gets at what the other one has created, and a request without credentials does not. If
// only one of them does, it may be an administrator; if a request without credentials does, the thing is public, unless the
// options say that it is private.
func (u *userTest) isOpen(by way) bool {
	if known, isKnown := u.opened.Load(by.ID); isKnown {
		return known.(bool)
	}
	own := u.reach(u.other, u.other, by)
	isMutual := own.isSuccess() && u.isReached(u.owner, u.other, by, own) && u.isReached(u.other, u.owner, by, own)
	isOpen := isMutual && (u.isPrivate || !u.isReached(u.owner, u.anonymous, by, own))
	u.opened.Store(by.ID, isOpen)
	return isOpen
}

// isReached reports whether a user gets at what an owner has created.
func (u *userTest) isReached(owner, user *draft.Trial, by way, own reached) bool {
	return u.reach(owner, user, by).opens(by, own)
}

// question asks whether the other user may do what the service lets it do with things that it has not created.
//
//	addNote: bob reads, changes what it has not created: Private or Shared of the options?
func (u *userTest) question() string {
	var open []string
	for _, by := range u.ways {
		if u.isOpen(by) {
			open = append(open, by.verb)
		}
	}
	verbs := strings.Join(slices.Compact(open), ", ") // PUT and PATCH are one after the other, and both change
	return fmt.Sprintf("%s: %s %s what it has not created: Private or Shared of the options?", u.resource.Create.ID, u.name, verbs)
}

// secretNames are members that a list leaves out for another reason than their length.
var secretNames = regexp.MustCompile(`(?i)secret|passw|token|private|credential|api_?key`)

// evidence is why a way should be closed by which a user gets at what it has not created, or nothing: the options say that
// the thing is private, the service keeps it from this user in another way that allows no more, or it shows a secret that no
// list shows.
func (u *userTest) evidence(by way, shown reached) string {
	isUnseen := by.isChange() && !shown.hasEffect
	switch {
	case u.isPrivate:
		return "the options say that it is private"
	case isUnseen:
		return ""
	}
	closed, listed := u.otherWays(by)
	switch {
	case closed != "":
		return closed + " keeps it from " + u.name
	case by.power == toRead && len(listed) > 0:
		return secretBeside(listed, leavesOf(received(shown.got)))
	}
	return ""
}

// otherWays tries all ways to get at what the user has not created. It returns the operation of one that is closed and allows
// no more than a way that is not, and the members of the thing in the lists that have it. A list without the thing is closed
// only if no list has it.
func (u *userTest) otherWays(by way) (closed string, listed map[string]string) {
	hiding := ""
	listed = map[string]string{}
	for _, w := range u.ways {
		own, foreign := u.reach(u.other, u.other, w), u.reach(u.owner, u.other, w)
		isClosed := own.opens(w, own) && !foreign.opens(w, own)
		switch {
		case foreign.item != nil:
			maps.Copy(listed, leavesOf(foreign.item))
		case isClosed && w.list != nil:
			hiding = w.ID
		case isClosed && w.power != toCall && w.power <= by.power:
			closed = w.ID
		}
	}
	if len(listed) == 0 {
		closed = cmp.Or(closed, hiding)
	}
	return closed, listed
}

// secretBeside says that a member with the name of a secret was read which the lists leave out, or nothing.
func secretBeside(listed, read map[string]string) string {
	for _, name := range jsonvalue.Names(read) {
		if listed[name] == "" && secretNames.MatchString(name) {
			return "no list shows " + name
		}
	}
	return ""
}

// reach creates a thing of one user, and another one tries to get at it.
func (u *userTest) reach(owner, user *draft.Trial, by way) (r reached) {
	thing := u.create(owner)
	if by.list != nil {
		return listedTo(user, by.list, thing)
	}
	owner.Read(thing)
	call := scenario.Call{Operation: by.ID, Of: thing}
	if by.BodySchema() != nil {
		call.Body = u.VariedThing(by.Operation)
	}
	r.got = user.Do(call, scenario.Expectation{})
	switch {
	case r.got.Status >= http.StatusInternalServerError:
		u.Check(scenario.Broken{Cause: judge.CrashOf(by.ID, r.got.Status), Rank: scenario.Crash, Message: "it fails for another user", Shown: &r.got})
	case r.isSuccess() && by.isChange():
		r.hasEffect = owner.HasChanged(thing)
	case r.isSuccess():
		r.hasEffect = u.shows(r.got, owner, thing)
	}
	return r
}

// create creates a thing of a user.
func (u *userTest) create(user *draft.Trial) *scenario.Thing {
	thing := u.resource.Thing(nil)
	if user.CreateIfPossible(thing); thing.Missing {
		u.NotTested(scenario.NotTested(u.resource.Create.ID + " does not succeed for both users"))
	}
	return thing
}

// mostUserPages is how many pages of a list are read to find a thing.
const mostUserPages = 100

// listedTo looks for a thing in a list of a user. A list that is refused, or cannot be read, does not have it.
func listedTo(user *draft.Trial, list *resources.List, thing *scenario.Thing) (r reached) {
	user.Attempt(func(t *scenario.Trial) {
		reading := &listTest{Trial: &draft.Trial{Trial: t, Draft: user.Draft}, list: list, things: []*scenario.Thing{thing}}
		pages := 0
		for found := range reading.pages(reading.first(), false) {
			r.got = reading.last
			if i := slices.Index(found.ids, fmt.Sprint(thing.ID)); i >= 0 {
				r.hasEffect, r.item = true, found.items[i]
				return
			}
			if pages++; pages == mostUserPages {
				return
			}
		}
	})
	return r
}

// shows reports whether a response shows a thing, which its owner has read: whether it has a member of the thing that another
// thing of the owner has otherwise. The identity does not count, because it is in the request. If there is no such member,
// any response shows the thing.
func (u *userTest) shows(got scenario.Interaction, owner *draft.Trial, thing *scenario.Thing) bool {
	like := u.create(owner)
	owner.Read(like)
	shared, shown := leavesOf(received(like.Seen)), leavesOf(received(got))
	isLike := true
	for name, text := range leavesOf(received(thing.Seen)) {
		isOwn := text != shared[name] && text != fmt.Sprint(thing.ID)
		if isOwn && text == shown[name] {
			return true
		}
		isLike = isLike && !isOwn
	}
	return isLike
}

// received is the value of JSON in a response, or nil.
func received(got scenario.Interaction) any {
	value, _ := got.Value()
	return value
}

// leavesOf are the texts and numbers in a value of JSON, by the name of their member. What is deeper has the name that it has
// there.
//
//	{"id": 7, "by": {"name": "ann"}, "tags": ["a"]}: {"id": "7", "name": "ann", "": "a"}
func leavesOf(value any) map[string]string {
	found := map[string]string{}
	var collect func(name string, value any) any
	collect = func(name string, value any) any {
		switch value.(type) {
		case string, json.Number:
			found[name] = fmt.Sprint(value)
		}
		return jsonvalue.Map(value, collect)
	}
	collect("", value)
	return found
}
