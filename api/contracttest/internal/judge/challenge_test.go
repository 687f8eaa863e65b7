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
		`Bearer,, Basic,`: "bearer basic", `Bearer , Basic realm = "x"`: "bearer basic", ` ,`: "", `Bearer, realm="x"`: "", `Negotiate a8==, realm="x"`: "", `Bearer realm="x", a8==`: "",
		`Bearer realm="x", Basic realm="x"`: "bearer basic", `BEARER Realm="x", realm="y"`: "",
		`Bearer realm=x"`: "", `Bearer realm="x`: "", `Bearer realm="x" error="y"`: "", `realm="x"`: "", ``: "", `Bearer realm="x", realm="y"`: "",
	} {
		schemes, err := parseChallenges(header)
		if got := strings.Join(schemes, " "); err == nil && got != want || (err == nil) != (want != "") {
			t.Errorf("%s has the schemes %q, %v; want %q", header, got, err, want)
		}
	}
}

// Any scheme is right where the document has none.
func TestNoSchemes(t *testing.T) {
	t.Parallel()
	x := thing(401, "")
	x.Header.Set("WWW-Authenticate", "Basic")
	if faults := thingsJudge(t).Faults(x); faults != nil {
		t.Errorf("the faults are %v", faults)
	}
}
