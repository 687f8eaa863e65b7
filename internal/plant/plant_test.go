package plant

import (
	"math"
	"regexp"
	"strings"
	"testing"
)

// An ETag depends on both numbers: two writes may have the same time, because
// clocks are coarse and can be set back, and random bits may repeat.
func TestETag(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-v]{26}$`) // the pattern in api/openapi.yaml
	seen := map[string]bool{}
	for _, at := range []int64{0, 1, 1_700_000_000_000_000, -1, math.MaxInt64} {
		for _, random := range []int64{0, 1, -1, math.MinInt64, math.MaxInt64} {
			etag := ETag(at, random)
			if !form.MatchString(etag) {
				t.Errorf("ETag(%d, %d) = %q, which does not match %v", at, random, etag, form)
			}
			if seen[etag] {
				t.Errorf("ETag(%d, %d) = %q, which is a duplicate", at, random, etag)
			}
			seen[etag] = true
		}
	}
}

// Shortened counts characters, not bytes, and keeps an empty tag and an absent one.
func TestShortened(t *testing.T) {
	long := strings.Repeat("🌵\x00é", 500)
	for _, c := range []struct{ before, after Plant }{
		{Plant{Name: long[:len("🌵\x00é")*333] + "🌵"}, Plant{Name: long[:len("🌵\x00é")*333] + "🌵"}}, // 1,000
		{Plant{Name: long, Tag: &long}, Plant{Name: long[:len("🌵\x00é")*333] + "🌵", Tag: new(long[:len("🌵\x00é")*85] + "🌵")}},
		{Plant{Tag: new("")}, Plant{Tag: new("")}},
		{Plant{}, Plant{}},
	} {
		if got := c.before.Shortened(); !got.Same(c.after) {
			t.Errorf("Shortened of %d and %v bytes has %d and %v", len(c.before.Name), c.before.Tag, len(got.Name), got.Tag)
		}
	}
}
