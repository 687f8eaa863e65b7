package contracttest_test

import (
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// stepOfScript is what a script prints of a step: the status of the run that has found the cause, and the one now.
var stepOfScript = regexp.MustCompile(`(?m)^# \d+\. [A-Z]+, was (\d+)\r?\nHTTP/1.1 (\d+)`)

// The script of a cause shows it again on another server, which chooses other identities and entity tags.
func TestScripts(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	for _, wrong := range []mistake{deleteIgnoresIfMatch, idReused, patchResetsTags} {
		t.Run(string(wrong), func(t *testing.T) {
			t.Parallel()
			contract, err := contracttest.New(helpdeskDocument, contracttest.Options{Seed: 1})
			must.NoError(t, err)
			server := httptest.NewServer(newHelpdesk(wrong))
			defer server.Close()
			found, err := contract.Run(t.Context(), contracttest.Target{URL: server.URL + "/v1"})
			must.NoError(t, err)
			tried := 0
			for _, cause := range found.Causes {
				if script := cause.Script(); script != "" {
					tried++
					repeats(t, cause, strings.ReplaceAll(script, server.URL, newServer(t, wrong)))
				}
			}
			if tried == 0 {
				t.Errorf("none of %d causes has a script", len(found.Causes))
			}
		})
	}
}

// newServer is the URL of a server with a mistake.
func newServer(t *testing.T, wrong mistake) string {
	t.Helper()
	server := httptest.NewServer(newHelpdesk(wrong))
	t.Cleanup(server.Close)
	return server.URL
}

// repeats fails unless each step of a script has the status that it had in the run.
func repeats(t *testing.T, cause contracttest.Cause, script string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-c", script)
	printed, err := command.CombinedOutput()
	must.NoError(t, err)
	steps := stepOfScript.FindAllStringSubmatch(string(printed), -1)
	if len(steps) != len(cause.First.Steps) {
		t.Errorf("%s: of %d steps the script prints %d:\n%s", cause.Cause, len(cause.First.Steps), len(steps), printed)
	}
	for _, step := range steps {
		if step[1] != step[2] {
			t.Errorf("%s: a step has another status, %q:\n%s", cause.Cause, step[0], script)
		}
	}
}
