package plant

import (
	"math"
	"regexp"
	"testing"
)

// Either number alone makes another version: clocks are coarse and are set
// back, and random bits may repeat.
func TestETag(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-v]{26}$`) // as the document has it
	seen := map[string]bool{}
	for _, at := range []int64{0, 1, 1_700_000_000_000_000, -1, math.MaxInt64} {
		for _, random := range []int64{0, 1, -1, math.MinInt64, math.MaxInt64} {
			etag := ETag(at, random)
			if !form.MatchString(etag) {
				t.Errorf("ETag(%d, %d) = %q, which does not have the form %v", at, random, etag, form)
			}
			if seen[etag] {
				t.Errorf("ETag(%d, %d) = %q, which was there before", at, random, etag)
			}
			seen[etag] = true
		}
	}
}
