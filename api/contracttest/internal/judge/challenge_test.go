package judge

import (
	"strings"
	"testing"
)

func TestChallenges(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		`Bearer`: "bearer", `Bearer realm="x"`: "bearer", `Bearer realm="a, b", error="c"`: "bearer",
		`Basic realm="x", Bearer realm="y"`: "basic bearer", `Negotiate a87421000492aa874209af8bc028==`: "negotiate", `Newauth realm="\"", type=1, Basic`: "newauth basic",
		`Bearer realm=x"`: "", `Bearer realm="x`: "", `Bearer realm="x" error="y"`: "", `realm="x"`: "", ``: "", `Bearer realm="x", realm="y"`: "",
	} {
		schemes, err := parseChallenges(header)
		if got := strings.Join(schemes, " "); err == nil && got != want || (err == nil) != (want != "") {
			t.Errorf("%s has the schemes %q, %v; want %q", header, got, err, want)
		}
	}
}
