package contracttest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// step is a sequence over a resource with what it needs.
type step struct {
	name    string
	try     func(v *Session, x *resource, id any)
	methods []string // the resource must have operations with them
}

var steps = []step{
	{"a read sees a create", readSeesCreate, []string{http.MethodGet}},
	{"a read sees a replacement", readSeesPut, []string{http.MethodGet, http.MethodPut}},
	{"a read sees a change", readSeesPatch, []string{http.MethodGet, http.MethodPatch}},
	{"a deleted resource is gone", deletedIsGone, []string{http.MethodGet, http.MethodDelete}},
	{"a replacement changes no other resource", replacesOne, []string{http.MethodGet, http.MethodPut}},
}

// sequences returns the tests of more than one request: what links, Location and
// the methods of HTTP promise, and what the options add. One that needs an
// operation that the document does not have is left out.
func (s *suite) sequences() (all []Case) {
	for _, x := range s.resources {
		name := x.create.operation.OperationID
		add := func(what string, promises []string, try func(v *Session, id any)) {
			promise := fmt.Sprintf("sequence, %s: %s", name, what)
			id := s.gen.identity(x.schema)
			all = append(all, Case{Name: promise, promises: append(promises, promise), try: func(v *Session) { try(v, id) }})
		}
		for _, method := range slices.Sorted(maps.Keys(x.uses)) {
			r := x.uses[method]
			add("link to "+r.operation.OperationID, []string{effectPromise(r, s.uses[r].parameter)}, func(v *Session, id any) {
				_, id = v.create(x, id)
				v.Accepted(v.on(r, id, nil, v.plainBody(r)))
				v.needsIdentity(x, r, id)
			})
		}
		if response := x.create.response(http.StatusOK); hasLocation(x.create) && x.uses[http.MethodGet] != nil || response != nil && hasHeader(response.Headers, "Location") {
			add("Location leads to the resource", nil, func(v *Session, id any) { locationLeads(v, x, id) })
		}
		for _, step := range steps {
			if !slices.ContainsFunc(step.methods, func(method string) bool { return x.uses[method] == nil }) {
				add(step.name, nil, func(v *Session, id any) { step.try(v, x, id) })
			}
		}
		if get := x.uses[http.MethodGet]; get != nil && s.contract.options.Rules.Head {
			add("HEAD is GET without a body", nil, func(v *Session, id any) { headIsGet(v, x, id) })
		}
	}
	for _, sequence := range s.contract.options.Sequences {
		promise := "sequence, " + sequence.Name
		all = append(all, Case{Name: promise, promises: append(slices.Clone(sequence.Shows), promise), try: sequence.Try})
	}
	return all
}

func hasLocation(r *route) bool {
	for status, ref := range r.operation.Responses.Map() {
		if status[0] == '2' && hasHeader(ref.Value.Headers, "Location") {
			return true
		}
	}
	return false
}

// createdBodies is how many bodies besides the plainest one are created and read.
const createdBodies = 8

func readSeesCreate(v *Session, x *resource, id any) {
	bodies := []map[string]any{nil}
	if _, schema := x.create.body(); schema != nil {
		all, drawn := v.suite.gen.obeying(schema), v.suite.gen.random
		drawn.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, variant := range all[:min(len(all), createdBodies)] {
			variant = v.suite.gen.renamed(schema, variant, oddNames[drawn.IntN(len(oddNames))])
			if body, ok := variant.value.(map[string]any); ok && body != nil {
				bodies = append(bodies, body)
			}
		}
	}
	for i, body := range bodies {
		if i > 0 {
			id = v.suite.gen.identity(x.schema)
		}
		sent, id := v.createAs(x, id, body)
		v.shows(*v.read(x, id), sent, x.uses[http.MethodGet])
	}
}

// needsIdentity fails if an operation on one resource succeeds on one that was
// never created, as it does if it does not look at its path. PUT may create it.
func (v *Session) needsIdentity(x *resource, r *route, existing any) {
	if r.method == http.MethodPut || r.response(http.StatusNotFound) == nil && r.response(http.StatusGone) == nil {
		return
	}
	other := v.suite.gen.identity(x.schema)
	if n, err := strconv.ParseInt(fmt.Sprint(existing), 10, 64); err == nil && x.assigned {
		other = n + 1_000_000 // a service that counts has not come there
	}
	if got := v.on(r, other, nil, v.plainBody(r)); got.Status < 400 {
		v.Failf("%s succeeds for %v, which was never created; %v was: %.300s", r.operation.OperationID, other, existing, got.Body)
	}
}

func locationLeads(v *Session, x *resource, id any) {
	mediaType, _ := x.create.body()
	body, _ := v.plainBody(x.create).(map[string]any)
	if !x.assigned {
		body[x.member] = id
	}
	got := v.send(x.create, x.create.template, nil, http.Header{"Content-Type": {mediaType}}, encode(body))
	path, query := v.leadsTo(got, got.Header.Get("Location"))
	get := v.contract.document.find(http.MethodGet, path)
	if get == nil {
		v.Failf("Location leads to %s, which is no path of the document", path)
	}
	at := v.send(get, path, query, http.Header{}, nil)
	v.Accepted(at)
	v.shows(at, body, get)
	if id, other := got.Member(x.member), at.Member(x.member); x.assigned && id != other {
		v.Failf("the response to a create has %s %v, but Location leads to %v", x.member, id, other)
	}
}

func readSeesPut(v *Session, x *resource, id any) {
	_, id = v.create(x, id)
	put := x.uses[http.MethodPut]
	_, schema := put.body()
	if schema == nil {
		panic(untried("the body is not JSON"))
	}
	for _, variant := range v.suite.gen.obeying(schema) {
		body, ok := variant.value.(map[string]any)
		if !ok {
			continue
		}
		got := v.on(put, id, nil, body)
		v.Accepted(got)
		known := map[string]any{}
		for name, property := range v.suite.gen.flatten(schema).Properties {
			if !v.suite.gen.absent(property.Value) && property.Value.Default == nil {
				known[name] = body[name] // a replacement removes what it does not have
			}
		}
		v.shows(got, known, put)
		v.shows(*v.read(x, id), known, x.uses[http.MethodGet])
	}
}

func readSeesPatch(v *Session, x *resource, id any) {
	whole, id := v.create(x, id)
	patch := x.uses[http.MethodPatch]
	_, schema := patch.body()
	if schema == nil {
		panic(untried("the body is not JSON"))
	}
	for _, variant := range v.suite.gen.obeying(schema) {
		body, ok := variant.value.(map[string]any)
		if !ok {
			continue
		}
		maps.Copy(whole, body)
		got := v.on(patch, id, nil, body)
		v.Accepted(got)
		v.shows(got, whole, patch)
		v.shows(*v.read(x, id), whole, x.uses[http.MethodGet])
	}
}

func deletedIsGone(v *Session, x *resource, id any) {
	sent, id := v.create(x, id)
	v.Accepted(v.on(x.uses[http.MethodDelete], id, nil, nil))
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		if r := x.uses[method]; r != nil {
			if method == http.MethodDelete && r.response(http.StatusNotFound) == nil {
				continue // deleting twice is fine then
			}
			v.Refused(v.on(r, id, nil, v.plainBody(r)), Violation{Kind: UnknownResource})
		}
	}
	if !x.assigned {
		_, _ = v.create(x, id)
		v.shows(*v.read(x, id), sent, x.uses[http.MethodGet])
	}
}

func replacesOne(v *Session, x *resource, id any) {
	_, one := v.create(x, id)
	_, other := v.create(x, v.suite.gen.identity(x.schema))
	before := v.read(x, other)
	v.change(x, one)
	if after := v.read(x, other); !bytes.Equal(before.Body, after.Body) {
		v.Failf("a change of %v has changed %v from %s to %s", one, other, before.Body, after.Body)
	}
}

// change replaces a resource by another value of it.
func (v *Session) change(x *resource, id any) Interaction {
	put := x.uses[http.MethodPut]
	_, schema := put.body()
	body, _ := v.plainBody(put).(map[string]any)
	for name := range body {
		if p := v.suite.gen.flatten(schema).Properties[name]; p != nil && p.Value.Type.Is("string") {
			body[name] = v.suite.gen.another(p.Value, []any{body[name]})
		}
	}
	got := v.on(put, id, nil, body)
	v.Accepted(got)
	return got
}

func headIsGet(v *Session, x *resource, id any) {
	_, id = v.create(x, id)
	get := v.read(x, id)
	names, _ := v.schemes(x.uses[http.MethodGet])
	credentials, _ := v.some(names, "", "")
	head := v.sendAs(http.MethodHead, get.Path, nil, http.Header{}, nil, credentials)
	if head.Status != get.Status {
		v.Failf("HEAD is %d, GET is %d", head.Status, get.Status)
	}
	for _, name := range []string{"ETag", "Last-Modified", "Content-Type", "Cache-Control"} {
		if got, want := head.Header.Get(name), get.Header.Get(name); got != want {
			v.Failf("HEAD has %s %q, GET has %q", name, got, want)
		}
	}
}

// leadsTo resolves a reference in a response (RFC 3986, section 5) and returns
// where it leads, path and query below the service. It must not lead elsewhere.
func (v *Session) leadsTo(x Interaction, reference string) (path string, query []string) {
	at, err := x.url()
	if err == nil {
		at, err = at.Parse(reference)
	}
	if err != nil {
		v.Failf("leads to %q: %v", reference, err)
	}
	if at.RawQuery != "" {
		query = strings.Split(at.RawQuery, "&")
	}
	at.RawQuery = ""
	path, ok := strings.CutPrefix(at.String(), v.target.URL)
	if !ok || !strings.HasPrefix(path, "/") {
		v.Failf("leads to %s, which is not below %s", at, v.target.URL)
	}
	return path, query
}
