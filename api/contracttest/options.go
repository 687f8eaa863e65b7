package contracttest

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/api/contracttest/internal/resources"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
)

// Options are for every service. All are optional.
type Options struct {
	// Header is sent with every request, as {"Authorization": {"Bearer …"}}. What is a credential
	// by the document is left out where a test sends none, or a wrong one. Failures show it as
	// a variable of the shell: $AUTHORIZATION.
	Header http.Header
	// Other is a second user: see [User].
	Other User
	// Seed draws the values of requests that no keyword settles, and where identities begin. 0: New draws it. The
	// environment variable CONTRACT_SEED, which a failure prints, has precedence.
	Seed uint64
	// Include are the only operations that are tested, Exclude others of which no request is sent: by operationId,
	// path, method or tag, as {"GET", "/things*"}; a star stands for the rest of an id or a path. Operations with
	// names such as shutdown, drop, reset, clear or logout are tested only if Include has their id or their path.
	// What is left out promises something all the same, which is not tested.
	Include, Exclude []string
	// BasePath is where a handler has the paths of the document, such as /api, if that is not the path of its first server.
	BasePath string
	// Requests makes [Watch] fail a test that sends what the document forbids and gets 2xx: a body of JSON, or a parameter of path
	// or query that is a text, a number or a boolean.
	Requests bool
	// Values are values of parameters and of members of bodies, by name, as {"tenant": "acme"}: what a document cannot
	// know, or does not say. Each request that may have one has it. That a service accepts other values is not tested.
	Values map[string]string
	// Only is the id of a cause: [Contract.Run] ends when a test has found it. The seed of the run that has found it
	// draws the same requests again.
	Only string
	// Limits are how long a run and a response may take. The command has flags for them.
	Limits Limits `json:"-"`
	// Parallel is how many tests [Contract.Run] and [Test] run at the same time, as far as they do not see each
	// other's work. The race detector then sees requests that meet. 0: one after the other, in an order that is
	// the same in each run.
	Parallel int `json:"-"`
	// Known are the ids of causes, and the ids or the names of promises that are not tested, that are known and do not
	// fail, each with the reason.
	Known map[string]string

	Service
	Checks
}

// Limits end a run, and the wait for a response.
type Limits struct {
	// Time is how long [Contract.Run] and [Test] may take before they report what they have found; what was
	// not tried by then is not tested. 0: as long as all tests take. The command has --max-time for it.
	Time time.Duration
	// Requests is after how many requests they report, at the end of a test. Unlike a time, it ends runs with one seed on
	// all machines with the same requests. 0: there is no such limit. The command has --max-requests for it.
	Requests int
	// Response is how long a response may take, 0: ten seconds. A GET or a DELETE, and the first request of an
	// operation, may take a minute, and what was slower before, twice as long. The command has --timeout for it.
	Response time.Duration
}

// User is a second user of a service, with rights like those of the first one. Tests then find out if one user gets at what the
// other one has created.
type User struct {
	Name string // for reports; empty: there is no such user
	// Header has its credentials. It replaces what [Options] have as Header under the same names.
	Header http.Header
	// Private and Shared are resources by their Create: what one user creates, the other one may not get at, or may. Of neither, a
	// test accuses the service only if it keeps such things from the other one in some way, and else asks.
	Private, Shared []string
}

// Service is what a document cannot say of its service.
type Service struct {
	// Resources and Lists say what operations create, read, change, delete and list. What is not
	// declared is inferred from the shape of the document, and [Report.Inferred] lists it. A
	// declaration replaces it: a Resource with the same Create, a List with the same Operation.
	Resources []Resource
	Lists     []List
	// Sequences are tests of several requests that only this service has. A sequence may show
	// further promises: "listThings, effect of parameter order".
	Sequences []Sequence

	// Rules are what this service promises beyond OpenAPI.
	Rules Rules
	// Earlier are documents by name. Clients generated from them must be able to
	// read every response.
	Earlier map[string][]byte
}

// Checks are functions, for tests in Go that know their service better than its document.
type Checks struct {
	// Faults returns what is wrong with a response, from what the document finds: it may add faults, or leave some out, as for
	// a path that the document does not have. It is asked again, without faults, for the response to a request that a test
	// wants to be refused.
	Faults func(of Judged) []Fault
	// Promises are further ones, by name. A function reports whether an interaction shows that one is kept.
	Promises map[string]func(x Interaction) bool
}

// earlierDocuments reads the earlier documents.
func (o Options) earlierDocuments() (map[string]*document.Document, error) {
	read := map[string]*document.Document{}
	for name, text := range o.Earlier {
		earlier, err := document.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("contracttest: %s: %w", name, err)
		}
		read[name] = earlier
	}
	return read, nil
}

// checkNames returns an error if the options name what the document does not have: an operation, or the parameter or member of a
// value.
func (o Options) checkNames(read *document.Document) error {
	var optional []string
	required := slices.Concat(o.Other.Private, o.Other.Shared)
	for _, resource := range o.Resources {
		required = append(required, resource.Create)
		optional = append(optional, resource.Read, resource.Replace, resource.Change, resource.Delete)
	}
	for _, list := range o.Lists {
		required = append(required, list.Operation)
		optional = append(optional, list.Create)
	}
	given := slices.DeleteFunc(optional, func(id string) bool { return id == "" })
	for _, id := range slices.Concat(required, given) {
		if read.Operation(id) == nil {
			return fmt.Errorf("contracttest: the options name the operation %q, but the document has none", id)
		}
	}
	for name := range o.Values {
		if !read.Names(name) {
			return fmt.Errorf("contracttest: the options have a value for %q, but the document has no parameter or member of a body with this name", name)
		}
	}
	return nil
}

// The identities of a run begin at 1,000,000, 1,100,000, 1,200,000 or another one of so many numbers, because a service may have
// kept what earlier runs have created. They stay small, because some documents bound them.
const (
	firstIDs   = 1000
	betweenIDs = 100_000
)

// ofPlan are the options for the tests.
func (o Options) ofPlan(seed uint64, chosen choice) plan.Settings {
	return plan.Settings{
		Settings: values.Settings{
			FirstID: 1_000_000 + int64(seed%firstIDs)*betweenIDs,
			Rules:   o.Rules,
			Values:  o.Values,
			Seed:    seed,
		},
		Declared: resources.Declarations{
			Resources: o.Resources,
			Lists:     o.Lists,
			LeaveOut:  chosen.never,
		},
		Unwanted:  chosen.unwanted,
		Sequences: o.Sequences,
		Users:     plan.Users{Other: o.Other.Name, Private: o.Other.Private, Shared: o.Other.Shared},
	}
}
