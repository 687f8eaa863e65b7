package world

import (
	"strings"
	"testing"
)

// Names are the same in each way to join their words, in the singular and in the plural.
func TestSingular(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ names, want string }{
		{"flow_run flowRun FlowRun flow-run flow_runs FLOW-runs", "flowrun"},
		{"series", "series"},
		{"category categories", "category"},
		{"class classes", "class"},
		{"box boxes", "box"},
		{"batch batches", "batch"},
		{"branch branches", "branch"},
		{"search searches", "search"},
		{"status", "status"},
		{"v2 v2s", "v2"},
		{"HTTPServer", "httpserver"},
		{"house houses", "house"},
		{"size sizes", "size"},
		{"lss", "lss"},
	} {
		for name := range strings.FieldsSeq(c.names) {
			if got := Singular(name); got != c.want {
				t.Errorf("%s is %s, want %s", name, got, c.want)
			}
		}
	}
	for name, want := range map[string]string{"flowRunID": "flow run id", "a1_b2": "a1 b2", "ABCd": "abcd", "": "", "größe": "gr e"} {
		if got := strings.Join(Words(name), " "); got != want {
			t.Errorf("%s has the words %s, want %s", name, got, want)
		}
	}
}

// What is at a path is said by its last segments, and by the name of the schema.
func TestNounsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ template, schema, want string }{
		{"/flows", "", "flow"},
		{"/flows/", "", "flow"},
		{"/flows/{id}", "", "flow"},
		{"/flows/{id}/", "", "flow"},
		{"/api/v1/flows", "", "v1 flow"},
		{"/pools/{id}/queues", "", "queue"},
		{"/pools/{id}/queues/{queue}", "", "queue"},
		{"/pools/{id}/queues/{queue}/items", "", "item"},
		{"/pools/{id}", "", "pool"},
		{"/{id}", "", ""},
		{"/", "", ""},
		{"/runs", "TaskRunResponse", "run taskrunresponse taskrun"},
		{"/runs", "Task", "run task"},
		{"/runs", "Task_Response_List", "run taskresponselist taskresponse task"},
		{"/runs", "Task-Response", "run taskresponse task"},
		{"/runs", "Task.Response", "run taskresponse task"},
		{"/runs", "Response", "run response"},
		{"/runs", "Details", "run detail"},
		{"/runs", "T", "run t"},
	} {
		if got := strings.Join(NounsOf(c.template, c.schema), " "); got != c.want {
			t.Errorf("at %s with %q there is %q, want %q", c.template, c.schema, got, c.want)
		}
	}
	for suffix := range strings.FieldsSeq("Response Read Out Output Model Dto DTO View Schema Public Detail Details Info Entity List") {
		if got := NounsOf("/", "Task"+suffix); len(got) != 2 || got[1] != "task" {
			t.Errorf("Task%s is %q", suffix, got)
		}
	}
}

// A parameter of a path is looked up under the best name first.
func TestInPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ template, parameter, want string }{
		{"/flows/{id}", "id", "flowid flowname"},
		{"/flows/{flow}", "flow", "flowflow flowid flowname flowkey flowslug flowid flowname flowkey flowslug"},
		{"/flows/{flow_id}", "flow_id", "flowid flowflowid flowid flowname"},
		{"/flows/{flowid}", "flowid", "flowflowid flowid flowname"},
		{"/flow-runs/{runId}", "runId", "runid flowrunrunid flowrunname"},
		{"/a/b/c/{id}", "id", "cid bid cname bname"},
		{"/pools/{pool}/queues/{id}", "id", "queueid queuename"},
		{"/pools/{pool}/queues/{queue}/items/{id}", "id", "itemid itemname"},
		{"/flows/{subflowid}", "subflowid", "flowsubflowid flowname"},
		{"/users/{video}", "video", "uservideo videoid videoname videokey videoslug userid username userkey userslug"},
		{"/limits/{id_or_name}", "id_or_name", "limitid limitname orname limitname"},
		{"/things/{parent_task_run_id}", "parent_task_run_id", "parenttaskrunid thingparenttaskrunid taskrunid runid thingname"},
		{"/users/{login}", "login", "userlogin loginid loginname loginkey loginslug userid username userkey userslug"},
	} {
		if got := strings.Join(InPath(c.template, c.parameter), " "); got != c.want {
			t.Errorf("{%s} in %s is\n%q, want\n%q", c.parameter, c.template, got, c.want)
		}
	}
	for kind := range strings.FieldsSeq("id ids uuid guid key name names slug code ref") {
		if got := InPath("/{x_"+kind+"}", "x_"+kind); len(got) != 1 {
			t.Errorf("{x_%s} is %q", kind, got)
		}
	}
}

// A member names something else if it has more words than the last one, which says so.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"id":                 "",
		"flow":               "",
		"flow_run":           "",
		"flow_id":            "flowid",
		"flowIds":            "flowid",
		"parent_task_run_id": "parenttaskrunid taskrunid runid",
		"run_names":          "runname",
		"FlowRunUUID":        "flowrunuuid runuuid",
		"flow_guid":          "flowguid",
		"flow_key":           "flowkey",
		"flow_slug":          "flowslug",
		"flow_code":          "flowcode",
		"flow_ref":           "flowref",
		"id_flow":            "",
	} {
		if got := strings.Join(Elsewhere(name), " "); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// What a wrapper has is what the object is.
func TestWrappers(t *testing.T) {
	t.Parallel()
	for wrapper := range strings.FieldsSeq("data result results items content record values rows payload response entries elements object") {
		p := &pool{}
		p.learn([]string{"flow"}, object(wrapper, []any{object("id", "f1")}), Place{})
		if got, _ := (&World{seen: *p}).Find([]string{"flowid"}, func(Entry) bool { return true }); got.Value != "f1" {
			t.Errorf("in %s there is %v", wrapper, got.Value)
		}
	}
}
