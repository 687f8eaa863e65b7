package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
)

// call is a method and a path.
type call struct{ method, path string }

// shapes returns JSON of at most size bytes in many shapes: each frame of a body, of an
// operation, is filled with a container of many small values.
func shapes(size int) map[string]map[call]string {
	all := map[string]map[call]string{}
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
	for key, frames := range frames {
		for _, frame := range frames {
			for _, item := range items {
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
					name := fmt.Sprintf("%s in %s, %s of %.30s", key, frame, kind, item)
					all[name] = map[call]string{key: fmt.Sprintf(frame, text)}
				}
			}
		}
	}
	return all
}

// The worst of many shapes of a body does not become much more than its bytes when it is decoded
// and checked, and hardly more than its bytes when it is passed on: not more than is reserved.
func TestWorstShapeOfABody(t *testing.T) {
	var body any // the body that the last request has left
	handler := checked(t, &bodyKeeper{body: &body})
	for size, most := range map[int]struct{ checked, kept int64 }{
		small: {2 << 20, 512 << 10}, 64 << 10: {4 << 20, 1 << 20}, 256 << 10: {8 << 20, 1 << 20},
	} {
		worstChecked, worstKept, checkedName, keptName := int64(0), int64(0), "", ""
		for name, shape := range shapes(size) {
			for key, text := range shape {
				checked, kept := costOf(handler, key, text, &body)
				if checked > worstChecked {
					worstChecked, checkedName = checked, name
				}
				if reserved := int64(heldSize(len(text))); int64(len(text))+kept > reserved {
					t.Errorf("%s: %d bytes become %d more, and %d are reserved", name, len(text), kept, reserved)
				}
				if kept > worstKept {
					worstKept, keptName = kept, name
				}
			}
		}
		t.Logf("figures: %d bytes of JSON take at most %d kB to check (%s), and become at most %d kB (%s)",
			size, worstChecked>>10, checkedName, worstKept>>10, keptName)
		if worstChecked > most.checked || worstKept > most.kept {
			t.Errorf("%d bytes of JSON take %d bytes to check, and become %d bytes; want at most %+v", size, worstChecked, worstKept, most)
		}
	}
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
