package judge

import (
	"os"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A client of an earlier document must be able to read what the document of today allows.
func TestEarlierClient(t *testing.T) {
	t.Parallel()
	today, err := os.ReadFile("testdata/pots.yaml")
	must.NoError(t, err)
	const red = `{"id":7,"color":"red"}`
	for name, c := range map[string]struct {
		old, new string // what the earlier document has, and what it has today
		request  string
		body     string
		want     string
	}{
		"nothing has changed":           {"", "", "GET /pots/7 200", red, ""},
		"a member was added":            {"color: {type: string, maxLength: 4}, ", "", "GET /pots/7 200", red, ""},
		"a member is no longer there":   {"required: [id]", "required: [id, size]", "GET /pots/7 200", red, "to a client of version 1, body /size required"},
		"a status was added":            {`responses: {"200": *pot, "401"`, `responses: {"201": *pot, "401"`, "GET /pots/7 200", red, "to a client of version 1, status responses"},
		"a success that neither has":    {"", "", "POST /pots 202", red, "status responses, to a client of version 1, status responses"},
		"a media type was added":        {"content: {text/*:", "content: {audio/*:", "GET /notes 200", "", "to a client of version 1, media type content"},
		"a body that it does not read":  {"", "", "GET /pots/7 401", red, ""},
		"no body where HTTP has none":   {"", "", "POST /pots 204", "", ""},
		"an operation was added":        {"operationId: getPot", "deprecated: true", "GET /pots/7 200", red, ""},
		"a path was added":              {"  /notes:", "  /others:", "GET /notes 200", "", ""},
		"a failure was added":           {`"4XX": &error`, `"400": &error`, "POST /pots 409", `{"code":"x"}`, ""},
		"a failure that it cannot read": {`required: [code]`, `required: [text]`, "POST /pots 409", `{"code":"x"}`, "to a client of version 1, body /text required"},
	} {
		read, err := document.Parse(today)
		must.NoError(t, err)
		text := strings.Replace(string(today), c.old, c.new, 1)
		if c.old != "" && text == string(today) {
			t.Fatalf("the document has no %q", c.old)
		}
		earlier, err := document.Parse([]byte(text))
		must.NoError(t, err)
		judge := New(read, map[string]*document.Document{"version 1": earlier}, Settings{})
		given := caseOf(t, "> "+c.request[:len(c.request)-4]+"\n< "+c.request[len(c.request)-3:])
		given.x.Body = []byte(c.body)
		given.x.Header.Set("Content-Type", "application/json")
		if c.body == "" {
			given.x.Header.Set("Content-Type", "text/plain")
		}
		var faults []string
		for _, fault := range judge.Faults(given.x) {
			faults = append(faults, fault.Where+" "+fault.Keyword)
		}
		if got := strings.Join(faults, ", "); got != c.want {
			t.Errorf("%s: the faults are %q, want %q", name, got, c.want)
		}
		// What the document says of the body is no cause of it.
		for _, failure := range judge.Failures(given.x, "", Asked{}, nil) {
			if strings.Contains(c.want, "body /") && !strings.Contains(failure.Cause.Place, "to a client of version 1") {
				t.Errorf("%s: the cause is %+v", name, failure.Cause)
			}
		}
	}
}

// The names of an operation, where there is one.
func TestNames(t *testing.T) {
	t.Parallel()
	judge := thingsJudge(t)
	put := thing(200, "")
	other := scenario.Interaction{Method: "BREW", Path: "/things"}
	if judge.Name(put) != "putThing" || judge.Name(other) != "" {
		t.Errorf("the operations are %q and %q", judge.Name(put), judge.Name(other))
	}
	if judge.Silent(put).Operation != "putThing" || judge.Silent(other).Operation != "BREW" {
		t.Errorf("silent are %+v and %+v", judge.Silent(put), judge.Silent(other))
	}
}

// A failure has the request without what is secret, and the test that has sent it.
func TestFailures(t *testing.T) {
	t.Parallel()
	x := thing(200, `{"id":"7"}`, "Key")
	failures := thingsJudge(t).Failures(x, "a test", Asked{}, x.RequestHeader)
	if len(failures) != 1 || failures[0].Test != "a test" || failures[0].Sent.RequestHeader.Get("Key") != "$KEY" || failures[0].Sent.Status != 200 {
		t.Errorf("the failures are %+v", failures)
	}
}
