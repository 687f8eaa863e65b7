package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// costlyBatches are JSON of about size bytes for a batch. Of 1,400 shapes of bodies, with many small values in each
// place of each operation, these cost most to check, or become the largest values.
func costlyBatches(size int) map[string]string {
	plants := func(item string) string {
		count := min(1000, (size-14)/(len(item)+1)) // as many as a batch may have
		return `{"plants":[` + strings.TrimSuffix(strings.Repeat(item+",", count), ",") + `]}`
	}
	var object strings.Builder
	for i := 0; object.Len()+30 < size; i++ {
		fmt.Fprintf(&object, `,"%x":0`, i)
	}
	return map[string]string{
		"valid plants":            plants(`{"id":1,"name":""}`),
		"plants without members":  plants(`{}`),
		"plants with another one": plants(`{"":0}`),
		"plants with wrong ones":  plants(`{"id":"","name":0,"tag":null}`),
		"numbers":                 plants("1e9"),
		"nested arrays":           plants(strings.Repeat("[", 50) + "0" + strings.Repeat("]", 50)),
		"an object":               `{"plants":{` + object.String()[1:] + `}}`,
		"an object in a plant":    `{"plants":[{"id":1,"name":"n","x":{` + object.String()[1:] + `}}]}`,
	}
}

// A body does not become much more than its bytes when it is decoded and checked, and hardly more than
// its bytes when it is passed on: not more than is reserved.
func TestWorstShapeOfABody(t *testing.T) {
	checker, err := contract.New(api.Document, contract.Options{
		Authorize: func(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
			return nil, nil
		},
	})
	must.NoError(t, err)
	var body any // that a request has left
	handler := checker.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { body = contract.Body(r.Context()) }))
	for size, most := range map[int]struct{ checked, kept int64 }{
		small:     {checked: 2 << 20, kept: 512 << 10},
		64 << 10:  {checked: 4 << 20, kept: 1 << 20},
		256 << 10: {checked: 8 << 20, kept: 1 << 20},
	} {
		for name, text := range costlyBatches(size) {
			r := httptest.NewRequest(http.MethodPost, "/plants:batch", strings.NewReader(text))
			r.Pattern = "/plants:batch"
			r.Header.Set("Content-Type", "application/json")
			body = nil
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			handler.ServeHTTP(httptest.NewRecorder(), r)
			runtime.ReadMemStats(&after)
			checked, kept := int64(after.TotalAlloc-before.TotalAlloc), sizeOf(body)
			t.Logf("figures: %d bytes of JSON, %s, take %d kB to check, and become %d kB", len(text), name, checked>>10, kept>>10)
			if checked > most.checked || kept > most.kept {
				t.Errorf("%s: %d bytes take %d bytes to check, and become %d bytes; want at most %+v", name, len(text), checked, kept, most)
			}
			if reserved := int64(heldSize(len(text))); int64(len(text))+kept > reserved {
				t.Errorf("%s: %d bytes become %d more, and %d are reserved", name, len(text), kept, reserved)
			}
		}
	}
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
