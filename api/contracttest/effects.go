package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/internal/document"

	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A parameter that a service accepts and ignores keeps no promise, so each one
// also has the promise that its effect is seen.

func effectPromise(r *document.Operation, parameter string) string {
	return fmt.Sprintf("%s, effect of parameter %s", r.ID, parameter)
}

// effects returns the tests of what parameters do: conditions by RFC 9110, and
// those of lists as the options say.
func (s *suite) effects() (all []Case) {
	for _, x := range s.resources {
		get := x.uses[http.MethodGet]
		if get == nil || !get.Sends("ETag") {
			continue
		}
		for _, method := range slices.Sorted(maps.Keys(x.uses)) {
			r := x.uses[method]
			for _, p := range r.Parameters {
				if p.In == "header" && (p.Name == "If-Match" || p.Name == "If-None-Match") {
					promise, id := effectPromise(r, p.Name), s.gen.identity(x.schema)
					all = append(all, newCase(promise, func(v *Session) { v.condition(x, r, p.Name, id) }))
				}
			}
		}
	}
	for _, list := range s.lists {
		all = append(all, s.listEffects(list)...)
	}
	return all
}

// version reads a resource and its ETag, which two reads must agree on.
func (v *Session) version(x *resource, id any) (body []byte, etag string) {
	got := v.read(x, id)
	if etag = got.Header.Get("ETag"); etag == "" && x.inferred {
		panic(untried("a read has no ETag"))
	} else if etag == "" {
		v.Failf("a read has no ETag")
	}
	if again := v.read(x, id).Header.Get("ETag"); again != etag {
		v.Failf("two reads of one resource have the ETags %s and %s", etag, again)
	}
	return got.Body, etag
}

// condition tests what a conditional header does (RFC 9110, section 13.1) with
// the version that is current, one that is not any more, another one, and *.
func (v *Session) condition(x *resource, r *document.Operation, header string, id any) {
	_, id = v.create(x, id)
	otherLife := ""
	if x.uses[http.MethodDelete] != nil && !x.assigned {
		_, otherLife = v.version(x, id)
		v.remove(x, id)
		v.create(x, id)
	}
	_, stale := v.version(x, id)
	if header == "If-Match" && strings.HasPrefix(stale, "W/") {
		panic(untried("the ETags are weak, and If-Match is true of strong ones only"))
	}
	if x.uses[http.MethodPut] != nil {
		v.change(x.uses[http.MethodPut], id)
		if _, now := v.version(x, id); now == stale {
			v.Failf("a change has left the ETag at %s", stale)
		}
	} else {
		stale = `"stale"`
	}
	for _, c := range []struct {
		value   func(current string) string
		matches bool
	}{
		{func(string) string { return stale }, false},
		{func(string) string { return otherLife }, false},
		{func(current string) string { return current }, true},
		{func(current string) string { return stale + ", " + current }, true},
		{func(string) string { return "*" }, true},
	} {
		before, current := v.version(x, id)
		value := c.value(current)
		if value == "" {
			continue
		}
		got := v.on(r, id, http.Header{header: {value}}, v.plainBody(r))
		switch proceeds := c.matches == (header == "If-Match"); {
		case proceeds && got.Status >= 300:
			v.Failf("%s with %s: %s must proceed, the status is %d: %.300s", r.ID, header, value, got.Status, got.Body)
		case proceeds && r.Method == http.MethodDelete:
			_, id = v.create(x, id)
		case proceeds:
		case r.Method == http.MethodGet && header == "If-None-Match":
			if got.Status != http.StatusNotModified {
				v.Failf("%s with %s: %s must be 304, the status is %d", r.ID, header, value, got.Status)
			}
		default:
			v.Refused(got, Violation{Kind: PreconditionFailed})
			v.unchanged(x, id, before, "a refused request")
		}
	}
	if r.Method == http.MethodPut && x.uses[http.MethodDelete] != nil && !x.assigned {
		v.remove(x, id)
		got := v.on(r, id, http.Header{header: {"*"}}, v.plainBody(r))
		if header == "If-Match" && got.Status == http.StatusNotFound {
			return // it only replaces
		} else if header == "If-Match" {
			v.Refused(got, Violation{Kind: PreconditionFailed})
			if after := v.read(x, id); after.Status != http.StatusNotFound {
				v.Failf("%s was refused, but it has created %s", r.ID, after.Body)
			}
		} else if got.Status >= 300 && got.Status != http.StatusNotFound {
			v.Failf("%s with %s: * must create what does not exist, the status is %d", r.ID, header, got.Status)
		}
	}
}
