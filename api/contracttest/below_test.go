package contracttest

import (
	"slices"
	"strings"
	"testing"
)

// An operation below a resource is tried if a link connects it with the create, or if a response has shown what its
// path names. Where nothing is known, the reason why it is not tested says what to do. The names of operations are longer
// than most, and the columns of the overview stay below each other.
func TestBelowResource(t *testing.T) {
	t.Parallel()
	const reason = "it needs something that exists, and no test knows what creates it: name this operation in the links of that response"
	unlinked := []string{"          links: {reserve: {operationId: reserveLotForAnHour, parameters: {lotId: '$response.body#/id'}}}\n", ""}
	for name, c := range map[string]struct {
		edits       []string
		wantsReason bool
	}{
		"linked":   {nil, false},
		"unlinked": {unlinked, false},
		"misnamed": {append(unlinked, "lotId", "placeId"), true},
	} {
		lots := toyServices["lots"]
		lots.edits = c.edits
		_, report := lots.run(t, right)
		for _, cause := range report.Causes {
			t.Errorf("the service is right, but: %s", cause)
		}
		var overview strings.Builder
		report.Overview(&overview)
		columns := map[int]bool{}
		for line := range strings.SplitSeq(overview.String(), "\n") {
			if at := strings.Index(line, " kept,"); at >= 0 {
				columns[at] = true
			}
		}
		if len(columns) != 1 {
			t.Errorf("the columns are not below each other:\n%s", &overview)
		}
		isSaid := slices.ContainsFunc(report.Promises, func(promise Promise) bool {
			return strings.HasPrefix(promise.Name, "reserveLotForAnHour, body") && promise.IsNotTested() && promise.Why == reason
		})
		if isSaid != c.wantsReason {
			t.Errorf("%s: the reason is said: %v, want %v", name, isSaid, c.wantsReason)
		}
	}
}
