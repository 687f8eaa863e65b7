package plant

import (
	"math"
	"regexp"
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
