package contracttest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// feed is a feed of the options with what it is of.
type feed struct {
	Feed
	route, stream *route // stream is nil if there is none
	resource      *resource
}

// findFeeds finds the feeds that the options declare.
func (s *suite) findFeeds() {
	for _, declared := range s.contract.options.Feeds {
		r, create := s.document.operation(declared.Operation), s.document.operation(declared.Create)
		i := slices.IndexFunc(s.resources, func(x *resource) bool { return x.create == create })
		if r != nil && i >= 0 {
			s.feeds = append(s.feeds, &feed{declared, r, s.document.operation(declared.Stream), s.resources[i]})
		}
	}
}

// feedOf returns the feed of an operation, or nil.
func (s *suite) feedOf(r *route) *feed {
	i := slices.IndexFunc(s.feeds, func(f *feed) bool { return f.route == r || f.stream == r })
	if i < 0 {
		return nil
	}
	return s.feeds[i]
}

// lister is the feed as a list of changes.
func (f *feed) lister() lister {
	return lister{List{Operation: f.Operation, Create: f.Create, ID: f.ID, Items: f.Items, Limit: f.Limit}, f.route, f.resource, false}
}

// effects returns the tests of what the parameters of a feed do.
func (f *feed) effects() (all []Case) {
	add := func(promise string, try func(v *Session)) {
		all = append(all, Case{Name: promise, promises: []string{promise}, try: try})
	}
	add(effectPromise(f.route, f.After), func(v *Session) { v.follows(f) })
	add("sequence, "+f.Operation+" without "+f.After+" has every resource", func(v *Session) { v.copies(f) })
	add("sequence, "+f.Operation+" refuses an unknown "+f.After, func(v *Session) {
		query := f.After + "=unknown"
		if p := f.route.operation.Parameters.GetByInAndName("query", f.After); p != nil {
			query, _ = v.suite.gen.baseParameter(p) // its example, if it has one
		}
		v.Refused(v.send(f.route, f.route.template, []string{query}, http.Header{}, nil), Violation{Kind: UnknownPosition})
	})
	if f.Limit != "" {
		add(effectPromise(f.route, f.Limit), func(v *Session) { v.limitsChanges(f) })
		if p := f.route.operation.Parameters.GetByInAndName("query", f.Limit); p != nil && schemaOf(p.Schema).Default != nil {
			add(defaultPromise(f.route, f.Limit), func(v *Session) {
				n, err := strconv.Atoi(fmt.Sprint(p.Schema.Value.Default))
				if err != nil || n > most {
					panic(untried("the default is more than a test creates"))
				}
				at := v.present(f)
				v.fill(f.lister(), n+1)
				if changes, _ := v.changes(f, url.Values{f.After: {at}}); len(changes) > n || len(changes) == 0 {
					v.Failf("of %d changes, a page without %s has %d, want 1 to %d", n+1, f.Limit, len(changes), n)
				}
			})
		}
	}
	if f.Wait != "" {
		add(effectPromise(f.route, f.Wait), func(v *Session) { v.waits(f) })
		add(defaultPromise(f.route, f.Wait), func(v *Session) {
			if changes, _ := v.changes(f, url.Values{f.After: {v.present(f)}}); len(changes) > 0 {
				v.Failf("after the last change there is another one: %v", changes)
			}
		})
	}
	if f.stream != nil {
		add(effectPromise(f.stream, f.After), func(v *Session) { v.streams(f) })
		if f.Resume != "" {
			add(effectPromise(f.stream, f.Resume), func(v *Session) { v.resumes(f) })
		}
	}
	return all
}

// changes requests a page, and returns its changes and the position after it.
func (v *Session) changes(f *feed, query url.Values) (changes []map[string]any, position string) {
	changes, position, _ = v.page(f, query)
	return changes, position
}

// page is changes, and returns whether the page says that there are more.
func (v *Session) page(f *feed, query url.Values) (changes []map[string]any, position string, more bool) {
	var pairs []string
	if len(query) > 0 {
		pairs = []string{query.Encode()}
	}
	got := v.send(f.route, f.route.template, pairs, http.Header{}, nil)
	v.Accepted(got)
	changes, _ = v.items(f.lister(), got)
	position, _ = got.Member(f.Position).(string)
	more, _ = got.Member(f.More).(bool)
	return changes, position, more
}

// present returns the position after the last change.
func (v *Session) present(f *feed) string {
	position, _ := v.applied(f, map[string]map[string]any{})
	return position
}

// applied reads from the beginning to the last change and applies the changes to a
// copy. It returns the position.
func (v *Session) applied(f *feed, copied map[string]map[string]any) (position string, pages int) {
	query := url.Values{}
	if f.Limit != "" {
		query.Set(f.Limit, "1000")
	}
	for {
		changes, next := v.changes(f, query)
		if len(changes) == 0 {
			return next, pages
		}
		for _, c := range changes {
			state, _ := c[f.State].(map[string]any)
			copied[fmt.Sprint(c[f.ID])] = state
		}
		if next == position {
			v.Failf("after %d changes, the position %q is still the same", len(changes), position)
		}
		position = next
		query.Set(f.After, position)
		pages++
	}
}

// copies fails unless a copy that is made of the feed has the resources that exist.
func (v *Session) copies(f *feed) {
	ids := v.fill(f.lister(), 3)
	v.remove(f.resource, ids[1])
	copied := map[string]map[string]any{}
	v.applied(f, copied)
	for _, id := range ids {
		state, known := copied[fmt.Sprint(id)]
		got := v.read(f.resource, id)
		switch {
		case got == nil:
			return
		case got.Status >= 400 && state != nil:
			v.Failf("%v does not exist, but the feed has %v", id, state)
		case got.Status < 400 && !known:
			v.Failf("%v exists, but the feed lacks it", id)
		case got.Status < 400:
			if want, err := decode(got.Body); err != nil || !sameValue(any(state), want) {
				v.Failf("%v is %s, but the feed has %v", id, got.Body, state)
			}
		}
	}
}

// follows fails unless each write is the only change after the position before it.
func (v *Session) follows(f *feed) {
	at := v.present(f)
	expect := func(what string, id any, exists bool) {
		changes, next := v.changes(f, url.Values{f.After: {at}})
		if len(changes) != 1 || fmt.Sprint(changes[0][f.ID]) != fmt.Sprint(id) {
			v.Failf("after %s of %v the feed has %v", what, id, changes)
		}
		if _, has := changes[0][f.State]; has != exists {
			v.Failf("after %s of %v the change has a member %s: %v", what, id, f.State, has)
		}
		if again, _ := v.changes(f, url.Values{f.After: {next}}); len(again) > 0 {
			v.Failf("the change by %s of %v comes again after its position: %v", what, id, again)
		}
		at = next
	}
	id := v.fill(f.lister(), 1)[0]
	expect("a create", id, true)
	if f.resource.uses[http.MethodPut] != nil {
		v.change(f.resource, id)
		expect("a replacement", id, true)
	}
	if f.resource.uses[http.MethodDelete] != nil {
		v.remove(f.resource, id)
		expect("a deletion", id, false)
	}
}

func (v *Session) limitsChanges(f *feed) {
	at := v.present(f)
	v.fill(f.lister(), 3)
	for limit := 1; limit <= 3; limit++ {
		query := url.Values{f.After: {at}, f.Limit: {strconv.Itoa(limit)}}
		changes, _, more := v.page(f, query)
		if len(changes) > limit || len(changes) == 0 {
			v.Failf("of 3 changes, a page with %s=%d has %d", f.Limit, limit, len(changes))
		}
		if f.More != "" && more != (len(changes) < 3) {
			v.Failf("of 3 changes, a page has %d, and %s is %v", len(changes), f.More, more)
		}
	}
}

// moment is long enough for a request to arrive. A service that does not wait has
// responded by then.
const moment = 100 * time.Millisecond

// later creates a resource after a moment. The result waits for it.
func (v *Session) later(f *feed) (created func() any) {
	ids, broken := make(chan any, 1), make(chan any, 1)
	other := *v
	other.failures = nil
	go func() {
		defer func() { broken <- recover() }()
		time.Sleep(moment)
		ids <- other.fill(f.lister(), 1)[0]
	}()
	return func() any {
		fault := <-broken
		if v.failures = append(v.failures, other.failures...); fault != nil {
			panic(fault)
		}
		return <-ids
	}
}

// waits fails unless a request that waits gets a change that comes later.
func (v *Session) waits(f *feed) {
	at := v.present(f)
	created := v.later(f)
	changes, _ := v.changes(f, url.Values{f.After: {at}, f.Wait: {"30"}})
	if id := created(); len(changes) != 1 || fmt.Sprint(changes[0][f.ID]) != fmt.Sprint(id) {
		v.Failf("%v was created while a request waited, and the response is %v", id, changes)
	}
}

// streams fails unless a stream has a change that comes later.
func (v *Session) streams(f *feed) {
	at := v.present(f)
	created := v.later(f)
	e := v.firstEvent(f, url.Values{f.After: {at}}, http.Header{})
	v.isChange(f, e, created())
}

// resumes fails unless a stream begins after the last event that the client has,
// also if the query has an older position.
func (v *Session) resumes(f *feed) {
	at := v.present(f)
	ids := v.fill(f.lister(), 2)
	first := v.firstEvent(f, url.Values{f.After: {at}}, http.Header{})
	v.isChange(f, first, ids[0])
	second := v.firstEvent(f, url.Values{f.After: {at}}, http.Header{http.CanonicalHeaderKey(f.Resume): {first.ID}})
	v.isChange(f, second, ids[1])
}

func (v *Session) firstEvent(f *feed, query url.Values, header http.Header) Event {
	got := v.send(f.stream, f.stream.template, []string{query.Encode()}, header, nil)
	v.Accepted(got)
	events, _ := got.Events()
	if len(events) == 0 {
		v.Failf("the stream ends without an event: %.300q", got.Body)
	}
	return events[0]
}

// isChange fails unless an event is the change of a resource.
func (v *Session) isChange(f *feed, e Event, id any) {
	value, _ := decode([]byte(e.Data))
	change, _ := value.(map[string]any)
	if e.ID == "" || fmt.Sprint(change[f.ID]) != fmt.Sprint(id) {
		v.Failf("the event after a change of %v is %+v", id, e)
	}
}
