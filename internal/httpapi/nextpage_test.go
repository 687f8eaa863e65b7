package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
)

// The service accepts every Link that it sends, also if the first request has headers of
// 32 KiB and escapes only what it must.
func TestPagingWithLongTag(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for i, c := range []struct {
		unit, sent string // a character of the tag, and how the client sends it
	}{
		{"a", "a"},
		{"?", "?"}, // three bytes, if escaped
		{"%", "%25"},
		{"é", "é"}, // six bytes, if escaped
		{"🌵", "🌵"}, // twelve
	} {
		tag, first := strings.Repeat(c.unit, 256), int64(10*i)
		want := []int64{first, first + 1, first + 2}
		for _, id := range want {
			if err := s.store.Create(t.Context(), plant.Plant{ID: id, Name: "n", Tag: &tag}); err != nil {
				t.Fatal(err)
			}
		}
		path := "/plants?limit=1&tag=" + strings.Repeat(c.sent, 256)
		filler := header("X-Filler", strings.Repeat("x", 32<<10-len(path)-500)) // the other headers have less than 500 bytes
		var got []int64
		for path != "" && len(got) < 10 {
			a := s.call(http.MethodGet, path, "", filler).wantStatus(t, http.StatusOK)
			got = append(got, ids(t, a)...)
			path = ""
			if m := linkForm.FindStringSubmatch(a.Header.Get("Link")); m != nil {
				path = m[1]
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("a walk by 256 times %q finds %d, want %d", c.unit, got, want)
		}
	}
}
