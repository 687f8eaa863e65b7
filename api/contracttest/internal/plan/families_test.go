package plan_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/run"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"github.com/plantstore/plantstore/internal/testing/toy"
)

// transcripts are those of testdata, by the name of the file.
var transcripts = map[string]trial{
	// The document says too little, so the meaning of each operation is inferred.
	"pots inferred": {document: "pots", service: potGarden},
	// The options say it.
	"pots declared": {document: "pots", service: potGarden, settings: declaredPots()},
	// It has no earlier versions, or none before a deletion.
	"pots that are never replaced": {document: "pots", service: potGarden, tests: "If-", edits: []string{"    put:", "    trace:"}},
	"pots that are never deleted":  {document: "pots", service: potGarden, tests: "If-|listPots", edits: []string{"    delete:", "    options:"}},
	// The service assigns identities, and has no conditions.
	"lists by link": {document: "lists", service: assigning(toy.Habits{Links: true}), tests: "Links(, effect|, default| shows)|walk by Link"},
	"lists by link in order": {
		document: "pots", service: func() http.Handler { return toy.New(toy.Habits{Links: true}) }, tests: "Link|listPots", settings: declaredPots(),
		edits: []string{"description: Pots.,", "description: Pots., headers: {Link: {schema: {type: string}}},"},
	},
	"lists by offset": {document: "lists", service: assigning(toy.Habits{}), tests: "Offsets(, effect|, default| shows)"},
	"lists by page":   {document: "lists", service: assigning(toy.Habits{}), tests: "Pages(, effect|, default| shows)"},
	"lists by page from 0": {
		document: "lists", service: assigning(toy.Habits{FromZero: true}), tests: "Pages(, effect|, default| shows)",
		edits: []string{"minimum: 1, default: 1", "minimum: 0, default: 0"},
	},
	"lists by cursor":  {document: "lists", service: assigning(toy.Habits{Items: "items"}), tests: "Cursors(, effect|, default| shows)"},
	"lists on a page":  {document: "lists", service: assigning(toy.Habits{}), tests: "Plains?(: |, effect|, default| shows)"},
	"below each other": {document: "below", service: assigning(toy.Habits{})},
	// The tests of one request, and of what no operation serves.
	"requests":        {document: "requests", service: requestGarden, phases: ofOne, target: credentials, tests: "^(find|createNote|deleteNote|sendForm, [a-r]|sendPicture|deleteCache|stop|watch|no path|methods)[^%]*$|^putNote, (par|no b|body /k)"},
	"requests strict": {document: "requests", service: requestGarden, phases: ofOne, target: credentials, tests: "createNote, (cred|body|media|mal|unk)|getNote, (cred|par)|^find, (par|unk)|^no path /no|^methods that /notes |OPTIONS", settings: strict},
	// A refused create must not be found, and a body may have any member.
	"refused creates":                 {document: "requests", service: refusing(refusesNotes), phases: "2", target: credentials, tests: refusedCreates},
	"refused creates that are stored": {document: "requests", service: storing, phases: "2", target: credentials, tests: refusedCreates},
	"refused creates that are found":  {document: "requests", service: finding, phases: "2", target: credentials, tests: refusedCreates},
	"refused creates of other ids":    {document: "pots", service: refusing(refusesPots), phases: "24", tests: "createPot, body /color maxLength, refused", settings: assignedPots()},
	"robustness of members":           {document: "pots", service: potGarden, phases: "24", tests: "createPot, body  additionalProperties"},
	// The first requests, until the service has accepted one of each operation, and what is learned of them.
	"first requests":                        {document: "needs", service: reception(nothing), phases: "0126", tests: "first|credentials|parameter"},
	"first requests without zones":          {document: "needs", service: reception(zones), phases: "01", tests: "book|change"},
	"first requests with zones or notes":    {document: "needs", service: reception(zonesWithNotes), phases: "01", tests: "book|change"},
	"first requests with notes alone":       {document: "needs", service: reception(allButNotes), phases: "01", tests: "book|change"},
	"first requests that are refused":       {document: "needs", service: reception(anything), phases: "01", tests: "book|change"},
	"first requests that need a fresh name": {document: "needs", service: func() http.Handler { return reception(again())() }, phases: "01", tests: "book"},
	"below each other with Location": {
		document: "below", service: assigning(toy.Habits{}), tests: "createPot: Location",
		edits: []string{"description: One.,", "description: One., headers: {Location: {schema: {type: string}}},"},
	},
}

// ofOne are the phases with tests of one request, and of paths.
const ofOne = "123456"

// requestGarden is a service of the document of requests, which accepts everything.
func requestGarden() http.Handler { return refusing(nil)() }

// refusing is a service of the document of requests that refuses some of them. refuses returns the status, or 0.
func refusing(refuses func(r *http.Request) int) func() http.Handler {
	return func() http.Handler {
		notes := toy.New(toy.Habits{})
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			methods, isPath := map[string]string{"finds": "GET", "notes": "GET POST PUT DELETE", "forms": "POST", "caches": "DELETE", "stops": "POST", "events": "GET"}[path]
			refused := 0
			if refuses != nil {
				refused = refuses(r)
			}
			a := toy.Status(http.StatusOK)
			switch {
			case refused != 0:
				a = toy.Status(refused)
			case !isPath || strings.HasSuffix(r.URL.Path, "/"):
				a = toy.Status(http.StatusNotFound)
			case r.Method == http.MethodOptions:
				a = toy.Status(http.StatusNoContent)
				a.Header.Set("Allow", strings.ReplaceAll(methods, " ", ", "))
			case !strings.Contains(methods, r.Method):
				a = toy.Status(http.StatusMethodNotAllowed)
				a.Header.Set("Allow", strings.ReplaceAll(methods, " ", ", "))
			case path == "notes":
				a = notes.Respond(r)
				a.Header.Del("Etag")
			case path == "caches":
				a = toy.Status(http.StatusNoContent)
			case path == "events":
				w.Header().Set("Content-Type", scenario.EventStream)
				_, _ = io.WriteString(w, "data: x\n\n") // into memory
			}
			a.Write(w)
		})
	}
}

// credentials are those of the document of requests.
var credentials = run.Target{
	Credentials: scenario.Credentials{"key": "a-key", "one": "one", "other": "other", "bearer": "token"},
	Without:     map[string]scenario.Credentials{"gardener": {"key": "no-gardener"}},
}

// refusedCreates finds tests of what a create must refuse.
const refusedCreates = "createNote, body /(id|kind) (enum|required|maximum), refused"

func refusesNotes(r *http.Request) int {
	if r.Method == http.MethodPost {
		return http.StatusBadRequest
	}
	return 0
}

func refusesPots(r *http.Request) int {
	if r.Method == http.MethodPost {
		return http.StatusBadRequest
	}
	return http.StatusNotFound
}

// storing refuses what it has stored.
func storing() http.Handler {
	stores := requestGarden()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			stores.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		stores.ServeHTTP(w, r)
	})
}

// finding refuses creates, and finds everything.
func finding() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := toy.Status(http.StatusBadRequest)
		if r.Method != http.MethodPost {
			a = &toy.Response{Status: http.StatusOK, Header: http.Header{}, Body: map[string]any{"id": 7, "kind": "oak"}}
		}
		a.Write(w)
	})
}

// assignedPots are options that say that the service chooses the ids of pots.
func assignedPots() plan.Settings {
	settings := declaredPots()
	settings.Declared.Resources[0].Assigned = true
	return settings
}

// strict are options of a service that promises all that can be promised.
var strict = plan.Settings{
	Settings: values.Settings{Rules: scenario.Rules{
		Exact: true, StrictJSON: true, StrictParameters: true, StrictMediaTypes: true, Options: true, Head: true,
		RefusesUnknown: func(operation scenario.Operation) bool { return operation.ID == "createNote" },
		Scope:          func(scenario.Operation) string { return "gardener" },
	}},
}

// potGarden is the right service of the document of pots.
func potGarden() http.Handler { return toy.New(toy.Habits{Defaults: map[string]any{"size": 3000}}) }

// declaredPots are the options that say what the document of pots does not.
func declaredPots() plan.Settings {
	return plan.Settings{
		Settings: values.Settings{Rules: scenario.Rules{Head: true}},
		Declared: resources.Declarations{
			Resources: []scenario.Resource{{Create: "createPot", ID: "id", Read: "getPot", Replace: "putPot", Change: "patchPot", Delete: "deletePot"}},
			Lists:     []scenario.List{{Operation: "listPots", Create: "createPot", ID: "id", Limit: "limit", After: "after", Filters: map[string]string{"color": "color"}}},
		},
	}
}

// assigning is a service that assigns identities.
func assigning(with toy.Habits) func() http.Handler {
	with.Assigns = true
	return func() http.Handler { return toy.New(with) }
}
