package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
)

// The service accepts every Link that it sends, also if the first request is close to
// the limit of 32 KiB and escapes only what it must.
func TestPagingWithLongTag(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := int64(0)
	begun := map[string]bool{}
	for _, c := range []struct {
		unit, sent string // a part of the tag, and how the client sends it
	}{
		{"a", "a"},
		{"!$'()*,/:=?@", "!$'()*,/:=?@"}, // each of them three bytes, if escaped
		{"<&>", "<%26>"},
		{"é", "é"}, // six bytes, if escaped
		{"%", "%25"},
	} {
		growth := max(1, float64(len(url.QueryEscape(c.unit)))/float64(len(c.sent)))
		for size := int(31_000 / growth); size < 33_000; size += 500 {
			n := size / len(c.sent)
			tag := strings.Repeat(c.unit, n)
			want := []int64{id, id + 1, id + 2}
			var plants []plant.Plant
			for _, id := range want {
				plants = append(plants, plant.Plant{ID: id, Name: "n", Tag: &tag})
			}
			id += 3
			if _, err := s.store.CreateAll(t.Context(), plants); err != nil {
				t.Fatal(err)
			}
			path := "/plants?limit=1&tag=" + strings.Repeat(c.sent, n)
			a := s.call(http.MethodGet, path, "")
			if a.StatusCode != http.StatusOK {
				a.wantError(t, plantapi.CodeInvalidParameter)
				continue
			}
			begun[c.unit] = true
			if got := s.walkLinks(path); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("a walk by %d times %q finds %d, want %d", n, c.unit, got, want)
			}
		}
		if !begun[c.unit] {
			t.Errorf("every walk by %q is refused", c.unit)
		}
	}
}
