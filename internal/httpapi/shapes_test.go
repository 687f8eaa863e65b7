package httpapi

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// call is a method and a path.
type call struct{ method, path string }

// shape is JSON for an operation.
type shape struct {
	call
	text string
}

// shapes returns JSON of at most size bytes in many shapes: each frame of a body, of an
// operation, is filled with a container of many small values. If names is not nil, it
// returns only the shapes with these names.
func shapes(size int, names map[string]bool) map[string]shape {
	all := map[string]shape{}
	frames := map[call][]string{
		{"POST", "/plants"}:       {"%s", `{"id":1,"name":"n","x":%s}`, `{"id":1,"name":%s}`, `{"id":%s,"name":"n"}`, `{"id":1,"name":"n","tag":%s}`},
		{"POST", "/plants:batch"}: {"%s", `{"plants":%s}`, `{"plants":[{"id":1,"name":%s}]}`, `{"plants":[{"id":1,"name":"n","x":%s}]}`, `{"plants":[{"id":1,"name":"n"}],"x":%s}`},
		{"PUT", "/plants/1"}:      {`{"name":"n","x":%s}`},
		{"PATCH", "/plants/1"}:    {`{"name":"n","x":%s}`, `{"tag":%s}`},
	}
	items := []string{
		"0", "1e9", `""`, `"é"`, "null", "true", "{}", "[]", "[[]]", `{"":{}}`, `{"":[]}`, `{"":0}`, `[{"":{}}]`, `{"a":{},"b":{}}`,
		`{"id":1}`, `{"id":1,"name":""}`, `{"id":"","name":0,"tag":null}`, `{"plants":[]}`, `{"name":"` + strings.Repeat("x", 1000) + `"}`,
	}
	kinds := []string{"thousand", "array", "object", "nested"}
	for key, frames := range frames {
		for _, frame := range frames {
			for _, item := range items {
				nameOf := func(kind string) string { return fmt.Sprintf("%s in %s, %s of %.30s", key, frame, kind, item) }
				if names != nil && !slices.ContainsFunc(kinds, func(kind string) bool { return names[nameOf(kind)] }) {
					continue
				}
				var array, object, deep strings.Builder
				for i := 0; array.Len()+len(item)+len(frame)+3 < size; i++ {
					array.WriteString("," + item)
					if object.Len()+len(item)+len(frame)+20 < size {
						fmt.Fprintf(&object, `,"%x":%s`, i, item)
					}
					if deep.Len()+len(item)+len(frame)+140 < size {
						deep.WriteString("," + strings.Repeat("[", 50) + item + strings.Repeat("]", 50))
					}
				}
				thousand := "[" + strings.Repeat(item+",", min(999, max(0, size/(len(item)+1)-60))) + item + "]" // as many as a batch may have
				for kind, text := range map[string]string{
					"thousand": thousand,
					"array":    "[" + array.String()[1:] + "]", "object": "{" + object.String()[1:] + "}", "nested": "[" + strings.TrimPrefix(deep.String(), ",") + "]",
				} {
					if name := nameOf(kind); names == nil || names[name] {
						all[name] = shape{key, fmt.Sprintf(frame, text)}
					}
				}
			}
		}
	}
	return all
}

// The worst of many shapes of a body does not become much more than its bytes when it is decoded
// and checked, and hardly more than its bytes when it is passed on: not more than is reserved.
// Of the largest size, only the shapes are tried that are among the worst of the size before.
func TestWorstShapeOfABody(t *testing.T) {
	must.HaveTime(t)
	var body any // the body that the last request has left
	handler := checked(t, &bodyKeeper{body: &body})
	var worst map[string]bool
	for _, most := range []struct {
		size          int
		checked, kept int64
		isLargest     bool
	}{
		{size: small, checked: 2 << 20, kept: 512 << 10},
		{size: 64 << 10, checked: 4 << 20, kept: 1 << 20},
		{size: 256 << 10, checked: 8 << 20, kept: 1 << 20, isLargest: true},
	} {
		if !most.isLargest {
			worst = nil
		}
		checked, kept := map[string]int64{}, map[string]int64{}
		for name, shape := range shapes(most.size, worst) {
			text := shape.text
			checked[name], kept[name] = costOf(handler, shape.call, text, &body)
			if reserved := int64(heldSize(len(text))); int64(len(text))+kept[name] > reserved {
				t.Errorf("%s: %d bytes become %d more, and %d are reserved", name, len(text), kept[name], reserved)
			}
		}
		byChecked, byKept := dearest(checked), dearest(kept)
		worstChecked, worstKept := checked[byChecked[0]], kept[byKept[0]]
		t.Logf("figures: %d bytes of JSON take at most %d kB to check (%s), and become at most %d kB (%s)",
			most.size, worstChecked>>10, byChecked[0], worstKept>>10, byKept[0])
		if worstChecked > most.checked || worstKept > most.kept {
			t.Errorf("%d bytes of JSON take %d bytes to check, and become %d bytes; want at most %+v", most.size, worstChecked, worstKept, most)
		}
		worst = map[string]bool{}
		for _, name := range slices.Concat(byChecked, byKept) {
			worst[name] = true
		}
	}
}

// dearest returns the names of the hundred shapes that cost most, the worst first.
func dearest(costs map[string]int64) []string {
	names := slices.SortedFunc(maps.Keys(costs), func(a, b string) int { return cmp.Compare(costs[b], costs[a]) })
	return names[:min(100, len(names))]
}

// costOf returns how many bytes are allocated to decode and check a body, and about how many
// the value takes that is passed on.
func costOf(handler http.Handler, to call, text string, body *any) (checked, kept int64) {
	mediaType := "application/json"
	if to.method == http.MethodPatch {
		mediaType = "application/merge-patch+json"
	}
	r := httptest.NewRequest(to.method, to.path, strings.NewReader(text))
	r.Header.Set("Content-Type", mediaType)
	w := discard{http.Header{}}
	*body = nil
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	handler.ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc), sizeOf(*body)
}

// bodyKeeper keeps the decoded body of a request.
type bodyKeeper struct {
	plantserver.ServerInterface
	body *any
}

func (k *bodyKeeper) keep(r *http.Request) { *k.body = contract.Body(r.Context()) }

func (k *bodyKeeper) CreatePlant(_ http.ResponseWriter, r *http.Request)  { k.keep(r) }
func (k *bodyKeeper) CreatePlants(_ http.ResponseWriter, r *http.Request) { k.keep(r) }

func (k *bodyKeeper) PutPlant(_ http.ResponseWriter, r *http.Request, _ int64, _ plantapi.PutPlantParams) {
	k.keep(r)
}

func (k *bodyKeeper) PatchPlant(_ http.ResponseWriter, r *http.Request, _ int64, _ plantapi.PatchPlantParams) {
	k.keep(r)
}

// sizeOf returns about how many bytes a decoded value takes: an interface, and a text, a slice, or
// a map of a few members.
func sizeOf(value any) (bytes int64) {
	bytes = 16
	switch value := value.(type) {
	case string:
		bytes += int64(len(value))
	case []any:
		bytes += 40
		for _, item := range value {
			bytes += sizeOf(item)
		}
	case map[string]any:
		bytes += 400
		for _, member := range value {
			bytes += sizeOf(member)
		}
	}
	return bytes
}
