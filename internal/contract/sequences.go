package contract

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// sequences returns the tests of more than one call: what the links of the
// document, its Location header and HTTP itself say about calls that follow one
// another. One that needs an operation which the document does not have is left
// out.
func (s *suite) sequences() (all []Test) {
	for _, name := range slices.Sorted(maps.Keys(s.links)) {
		l := s.links[name]
		id := s.draw()
		promise := fmt.Sprintf("%s, link to %s", l.source.operation.OperationID, name)
		all = append(all, Test{promise, promise, func(v *session) {
			v.create(id)
			i := slices.IndexFunc(s.doc.routes, func(r documentRoute) bool { return r.operation.OperationID == name })
			v.accepted(v.on(&s.doc.routes[i], id, nil, v.plainBody(&s.doc.routes[i])))
		}})
	}
	has := func(methods ...string) bool {
		v := &session{doc: s.doc, suite: s}
		return !slices.ContainsFunc(methods, func(method string) bool { return v.linked(method) == nil })
	}
	add := func(name string, try func(v *session, id int64), methods ...string) {
		if has(methods...) {
			id := s.draw()
			all = append(all, Test{"sequence, " + name, "sequence, " + name, func(v *session) { try(v, id) }})
		}
	}
	add("Location leads to the plant", locationLeads, http.MethodGet)
	add("a repeated create changes nothing", repeatedCreate, http.MethodGet)
	add("a create under a taken id changes nothing", takenID, http.MethodGet)
	add("a read sees a create", readSeesCreate, http.MethodGet)
	add("a read sees a replacement", readSeesPut, http.MethodGet, http.MethodPut)
	add("a read sees a change", readSeesPatch, http.MethodGet, http.MethodPatch)
	add("what is deleted is gone", deletedIsGone, http.MethodGet, http.MethodDelete)
	add("an old version is refused", oldVersion, http.MethodGet, http.MethodPut)
	add("an old version is refused in another life of the id", oldVersionOfAnotherLife, http.MethodGet, http.MethodPut, http.MethodDelete)
	add("HEAD is GET without a body", headIsGet, http.MethodGet)
	for i, r := range s.doc.routes {
		if array, member := s.batch(r); array != "" && has(http.MethodGet) {
			taken, free := s.draw(), s.draw()
			name := r.operation.OperationID + " stores all or nothing"
			all = append(all, Test{"sequence, " + name, "sequence, " + name, func(v *session) {
				allOrNothing(v, &s.doc.routes[i], array, member, taken, free)
			}})
		}
	}
	if list := s.list(); list != nil {
		first := s.draw()
		s.gen.next += 5
		all = append(all, Test{"sequence, a walk by Link meets every plant once", "sequence, a walk by Link meets every plant once", func(v *session) {
			walkByLink(v, list, first)
		}})
	}
	return all
}

func (s *suite) draw() int64 {
	s.gen.next++
	return s.gen.next
}

// list returns the operation that lists plants: a GET with a limit.
func (s *suite) list() *documentRoute {
	for i, r := range s.doc.routes {
		if r.method == http.MethodGet && r.operation.Parameters.GetByInAndName("query", "limit") != nil {
			return &s.doc.routes[i]
		}
	}
	return nil
}

// batch returns the member of an operation's body that is a list of plants to
// be created, and the member of a plant that is its id; or nothing.
func (s *suite) batch(r documentRoute) (array, member string) {
	if r.operation.RequestBody == nil {
		return "", ""
	}
	_, schema := bodyOf(r)
	for name, property := range schema.Properties {
		if property.Value.Items == nil {
			continue
		}
		for inner, p := range property.Value.Items.Value.Properties {
			if s.gen.identities[p.Value] {
				return name, inner
			}
		}
	}
	return "", ""
}

// allOrNothing sends a batch of a plant that could be created and one whose id
// another plant has.
func allOrNothing(v *session, r *documentRoute, array, member string, taken, free int64) {
	v.create(taken)
	before := v.read(taken)
	_, schema := bodyOf(*r)
	item := schema.Properties[array].Value.Items.Value
	plants := []any{}
	for _, id := range []int64{free, taken} {
		p := v.suite.gen.base(item).(map[string]any)
		for name, property := range item.Properties {
			if property.Value.Type.Is("string") {
				p[name] = "another"
			}
		}
		p[member] = id
		plants = append(plants, p)
	}
	x := v.send(r.method, r.template, "", http.Header{"Content-Type": {"application/json"}}, encode(map[string]any{array: plants}))
	e := v.refusedWith(x, plantapi.CodeIDTaken)
	v.pointsAt(x, e, plantapi.InBody, fmt.Sprintf("/%s/1/%s", array, member))
	if x := v.read(free); x.Status != http.StatusNotFound {
		v.fail("a batch was refused, but plant %d of it is there: %s", free, x.Body)
	}
	if after := v.read(taken); !bytes.Equal(before.Body, after.Body) {
		v.fail("a batch was refused, but a plant has changed from %s to %s", before.Body, after.Body)
	}
}

// plainBody is the base of an operation's body, or nil.
func (v *session) plainBody(r *documentRoute) any {
	if r.operation.RequestBody == nil {
		return nil
	}
	_, schema := bodyOf(*r)
	return v.suite.gen.base(schema)
}

func readSeesCreate(v *session, id int64) {
	sent := v.create(id)
	v.shows(*v.read(id), sent)
}

func locationLeads(v *session, id int64) {
	source, body := v.source(id)
	x := v.send(source.method, source.template, "", http.Header{"Content-Type": {"application/json"}}, encode(body))
	path, _ := v.leadsTo(x, x.Header.Get("Location"))
	at := v.send(http.MethodGet, path, "", http.Header{}, nil)
	v.accepted(at)
	v.shows(at, body)
}

// leadsTo resolves a reference in an answer (RFC 3986, section 5) and returns
// where it leads, path and query below the service. It must not lead elsewhere.
func (v *session) leadsTo(x Exchange, reference string) (path, query string) {
	at, err := url.Parse(x.URL)
	if err == nil {
		at, err = at.Parse(reference)
	}
	if err != nil {
		v.fail("leads to %q: %v", reference, err)
	}
	query, at.RawQuery = at.RawQuery, ""
	path, ok := strings.CutPrefix(at.String(), v.target.URL)
	if !ok || !strings.HasPrefix(path, "/") {
		v.fail("leads to %s, which is not below %s", at, v.target.URL)
	}
	return path, query
}

func repeatedCreate(v *session, id int64) {
	v.create(id)
	before := v.read(id)
	v.create(id)
	if after := v.read(id); !bytes.Equal(before.Body, after.Body) {
		v.fail("the plant has changed from %s to %s", before.Body, after.Body)
	}
}

func takenID(v *session, id int64) {
	source, body := v.source(id)
	v.create(id)
	before := v.read(id)
	_, schema := bodyOf(*source)
	for name, property := range schema.Properties {
		if v.suite.gen.identities[property.Value] || !property.Value.Type.Is("string") {
			continue
		}
		other := maps.Clone(body)
		other[name] = "another"
		x := v.send(source.method, source.template, "", http.Header{"Content-Type": {"application/json"}}, encode(other))
		v.refusedWith(x, plantapi.CodeIDTaken)
		if after := v.read(id); !bytes.Equal(before.Body, after.Body) {
			v.fail("a create with another %s was refused, but the plant has changed from %s to %s", name, before.Body, after.Body)
		}
	}
}

func readSeesPut(v *session, id int64) {
	v.create(id)
	put := v.linked(http.MethodPut)
	_, schema := bodyOf(*put)
	for _, variant := range v.suite.gen.obeying(schema) {
		body, ok := variant.value.(map[string]any)
		if !ok {
			continue
		}
		x := v.on(put, id, nil, body)
		v.accepted(x)
		known := map[string]any{}
		for name := range schema.Properties {
			known[name] = body[name] // a replacement takes away what it does not have
		}
		v.shows(x, known)
		v.shows(*v.read(id), known)
	}
}

func readSeesPatch(v *session, id int64) {
	whole := v.create(id)
	patch := v.linked(http.MethodPatch)
	_, schema := bodyOf(*patch)
	for _, variant := range v.suite.gen.obeying(schema) {
		body, ok := variant.value.(map[string]any)
		if !ok {
			continue
		}
		maps.Copy(whole, body)
		x := v.on(patch, id, nil, body)
		v.accepted(x)
		v.shows(x, whole)
		v.shows(*v.read(id), whole)
	}
}

func deletedIsGone(v *session, id int64) {
	v.create(id)
	v.accepted(v.on(v.linked(http.MethodDelete), id, nil, nil))
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		if r := v.linked(method); r != nil {
			v.refusedWith(v.on(r, id, nil, v.plainBody(r)), plantapi.CodeNoSuchPlant)
		}
	}
	readSeesCreate(v, id)
}

// versioned reads a plant and its ETag.
func (v *session) versioned(id int64) (Exchange, string) {
	x := v.read(id)
	etag := x.Header.Get("ETag")
	if etag == "" {
		v.fail("a read has no ETag")
	}
	if again := v.read(id).Header.Get("ETag"); again != etag {
		v.fail("two reads of one plant have ETags %s and %s", etag, again)
	}
	return *x, etag
}

// refusesVersion fails unless reads and writes treat an ETag as one that is no
// more.
func (v *session) refusesVersion(id int64, etag string) {
	before := v.read(id)
	if x := v.on(v.linked(http.MethodGet), id, http.Header{"If-None-Match": {etag}}, nil); x.Status != http.StatusOK {
		v.fail("a read with the old version %s answered %d", etag, x.Status)
	}
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if r := v.linked(method); r != nil && r.operation.Responses.Status(http.StatusPreconditionFailed) != nil {
			v.refusedWith(v.on(r, id, http.Header{"If-Match": {etag}}, v.plainBody(r)), plantapi.CodePreconditionFailed)
		}
	}
	if after := v.read(id); !bytes.Equal(before.Body, after.Body) {
		v.fail("a write for version %s was refused, but the plant has changed from %s to %s", etag, before.Body, after.Body)
	}
}

func (v *session) change(id int64) {
	put := v.linked(http.MethodPut)
	body := v.plainBody(put).(map[string]any)
	for name := range body {
		body[name] = "another"
	}
	v.accepted(v.on(put, id, nil, body))
}

func oldVersion(v *session, id int64) {
	v.create(id)
	_, old := v.versioned(id)
	if x := v.on(v.linked(http.MethodGet), id, http.Header{"If-None-Match": {old}}, nil); x.Status != http.StatusNotModified {
		v.fail("a read with the version that is there answered %d, want 304", x.Status)
	}
	v.change(id)
	if _, now := v.versioned(id); now == old {
		v.fail("a change has left the version at %s", old)
	}
	v.refusesVersion(id, old)
}

func oldVersionOfAnotherLife(v *session, id int64) {
	v.create(id)
	_, old := v.versioned(id)
	v.accepted(v.on(v.linked(http.MethodDelete), id, nil, nil))
	v.create(id)
	v.refusesVersion(id, old)
}

func headIsGet(v *session, id int64) {
	v.create(id)
	get := v.read(id)
	head := v.send(http.MethodHead, get.Path, "", http.Header{}, nil)
	if head.Status != get.Status || head.Header.Get("ETag") != get.Header.Get("ETag") {
		v.fail("HEAD answered %d with ETag %s, GET %d with %s", head.Status, head.Header.Get("ETag"), get.Status, get.Header.Get("ETag"))
	}
}

// linkTarget finds the reference in a Link to the next page.
var linkTarget = regexp.MustCompile(`^<([^>]+)>; rel="next"$`)

// walkByLink creates plants with ids in a row and walks from before the first
// one, with every size of page.
func walkByLink(v *session, list *documentRoute, first int64) {
	const count = 5
	for i := range int64(count) {
		v.create(first + i)
	}
	for limit := 1; limit <= count; limit++ {
		query := url.Values{"limit": {strconv.Itoa(limit)}, "after": {strconv.FormatInt(first-1, 10)}}.Encode()
		path, next := list.template, first
		for page := 0; next < first+count; page++ {
			x := v.send(http.MethodGet, path, query, http.Header{}, nil)
			v.accepted(x)
			value, _ := decode(x.Body)
			plants, _ := value.([]any)
			if len(plants) > limit || len(plants) == 0 {
				v.fail("a page with limit %d has %d plants: %.300s", limit, len(plants), x.Body)
			}
			for _, p := range plants {
				id := fmt.Sprint(p.(map[string]any)["id"])
				if next < first+count && id != strconv.FormatInt(next, 10) {
					v.fail("page %d with limit %d has plant %s where %d comes next", page, limit, id, next)
				}
				next++
			}
			link := linkTarget.FindStringSubmatch(x.Header.Get("Link"))
			if link == nil && next < first+count {
				v.fail("page %d with limit %d has Link %q, but plant %d comes next", page, limit, x.Header.Get("Link"), next)
			}
			if link != nil {
				path, query = v.leadsTo(x, link[1])
			}
		}
	}
}
