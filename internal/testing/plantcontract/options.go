// Package plantcontract tests the Plant Store with package contracttest. It has what
// api/openapi.yaml cannot say about the service.
package plantcontract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
)

// Plants returns the contract of the Plant Store. Both documents are embedded, so
// it panics only where the tests of this package fail, too.
var Plants = sync.OnceValue(func() *contracttest.Contract {
	c, err := contracttest.New(api.Document, options())
	if err != nil {
		panic(err)
	}
	return c
})

// Target is a service with tokens: one for everything, one that may only read,
// one that may only write. The last two may be empty.
func Target(url, token, readOnly, writeOnly string) contracttest.Target {
	target := contracttest.Target{URL: url, Credentials: contracttest.Credentials{scheme: token}, Without: map[string]contracttest.Credentials{}}
	for scope, other := range map[plantapi.Scope]string{plantapi.ScopeWrite: readOnly, plantapi.ScopeRead: writeOnly} {
		if other != "" {
			target.Without[string(scope)] = contracttest.Credentials{scheme: other}
		}
	}
	return target
}

const scheme = "bearerAuth"

func options() contracttest.Options {
	p := contracttest.Options{
		Seed: 1, // so that a test run repeats; CONTRACT_SEED draws others
		Service: contracttest.Service{
			Lists: []contracttest.List{
				{Operation: "listPlants", Create: "createPlant", ID: "id", Limit: "limit", After: "after", Filters: map[string]string{"tag": "tag"}},
				// Their positions are tested by sequences.
				{Operation: "listChanges"},
				{Operation: "streamChanges"},
			},
			Sequences: slices.Concat(sequences, findSequences, changeSequences, historySequences),
			Rules: contracttest.Rules{
				Exact: true, StrictJSON: true, StrictParameters: true, StrictMediaTypes: true, Options: true, Head: true,
				RefusesUnknown: func(operation contracttest.Operation) bool {
					return operation.Extensions["x-unknown-parameters"] != "ignored"
				},
				Scope: func(operation contracttest.Operation) string {
					scope, _ := operation.Extensions["x-required-scope"].(string)
					return scope
				},
				AnyHeader: map[string]string{
					"X-Content-Type-Options":        "every response has it, and it means nothing to a client",
					"RateLimit-Limit":               "the document's Limits: on every response while there is a quota",
					"RateLimit-Remaining":           "the same",
					"RateLimit-Reset":               "the same",
					"Access-Control-Allow-Origin":   "CORS, if an operator allows origins; browsers read it",
					"Access-Control-Expose-Headers": "the same",
					"Vary":                          "the same",
				},
			},
			Earlier: map[string][]byte{"api/seed.yaml": api.Seed},
		},
		Checks: contracttest.Checks{Faults: faults, Promises: map[string]func(contracttest.Interaction) bool{}},
	}
	for _, code := range codes() {
		p.Promises[codePromise(code)] = func(x contracttest.Interaction) bool {
			e, err := readError(x)
			return x.Status >= 400 && err == nil && e.Error == code
		}
	}
	return p
}

// faults are those of the document, what it says in words, and what the generated client cannot read.
func faults(of contracttest.Judged) []contracttest.Fault {
	isOutside := of.Operation == ""
	if isOutside && (slices.Contains(documentation, of.Path) || isPartOfDocs(of.Path)) {
		of.Faults, of.Why = documentationFaults(of.Interaction)
	}
	if isOutside && of.Header.Get("X-Request-Id") == "" {
		of.Faults = append(of.Faults, contracttest.Fault{Where: "header X-Request-Id", Keyword: "required", Message: "is missing"})
	}
	isRight := len(of.Faults) == 0
	switch {
	case of.Method == http.MethodHead, isOutside && of.Why == nil:
		return of.Faults
	case of.Why != nil && isRight:
		return refusalFaults(*of.Why, of.Interaction)
	case of.Operation == "streamChanges" && of.Status == http.StatusOK:
		of.Faults = append(of.Faults, eventFaults(of.Interaction)...)
	case !isOutside:
		of.Faults = append(of.Faults, failureFaults(of.Interaction)...)
	}
	if len(of.Faults) == 0 {
		return clientFaults(of.Operation, of.Interaction)
	}
	return of.Faults
}

// clientFaults are what the generated client cannot read.
var clientFaults = generatedClient(func(d doer) any {
	client, _ := plantclient.NewClientWithResponses("http://plantstore.invalid", plantclient.WithHTTPClient(d))
	return client
})

func codePromise(code int32) string { return fmt.Sprint("ErrorCode, ", code) }

// schemas are the schemas of the document by name.
var schemas = sync.OnceValue(func() openapi3.Schemas {
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	if err != nil {
		panic(err)
	}
	return doc.Components.Schemas
})

// codes are the error codes that the document lists.
var codes = sync.OnceValue(func() (all []int32) {
	for _, code := range schemas()["ErrorCode"].Value.Enum {
		all = append(all, int32(code.(float64)))
	}
	return all
})

// documentation are the paths of the documentation, and / which is a page or leads to it.
// They are not operations, so the document does not list them.
var documentation = []string{"/", "/docs", "/openapi.yaml", "/openapi.json"}

// isPartOfDocs reports whether a path may be a file of the page at /docs or of that at /.
func isPartOfDocs(path string) bool {
	return strings.HasPrefix(path, "/docs/") || strings.HasPrefix(path, "/page/")
}

// documentationFaults are what is wrong with a response of the documentation, and why it is a refusal, if it must be one.
func documentationFaults(x contracttest.Interaction) (faults []contracttest.Fault, why *contracttest.Violation) {
	switch x.Method {
	case http.MethodGet, http.MethodHead:
		return pageFaults(x)
	case http.MethodOptions:
		return methodFaults(x, http.StatusNoContent), nil
	}
	return methodFaults(x, http.StatusMethodNotAllowed), &contracttest.Violation{Kind: contracttest.UnknownMethod}
}

// methodFaults are what is wrong with a response that says which methods there are.
func methodFaults(x contracttest.Interaction, status int) []contracttest.Fault {
	methods := strings.Split(x.Header.Get("Allow"), ", ")
	slices.Sort(methods)
	isRight := slices.Equal(methods, []string{http.MethodGet, http.MethodHead, http.MethodOptions})
	if isRight && x.Status == status {
		return nil
	}
	message := fmt.Sprintf("must be %d with the methods GET, HEAD and OPTIONS, which are %q", status, methods)
	return []contracttest.Fault{{Where: "status", Keyword: "documentation", Message: message}}
}

// pageFaults are what is wrong with a response to a read of a page.
func pageFaults(x contracttest.Interaction) ([]contracttest.Fault, *contracttest.Violation) {
	fault := func(where, message string) ([]contracttest.Fault, *contracttest.Violation) {
		return []contracttest.Fault{{Where: where, Keyword: "documentation", Message: message}}, nil
	}
	switch {
	case x.Path == "/" && x.Status == http.StatusTemporaryRedirect: // without the page
		if x.Header.Get("Location") != "docs" {
			return fault("header Location", "must be docs, relative to /")
		}
		return nil, nil
	case isPartOfDocs(x.Path) && x.Status == http.StatusNotFound:
		return nil, &contracttest.Violation{Kind: contracttest.UnknownPath}
	case !slices.Contains([]int{http.StatusOK, http.StatusNotModified, http.StatusPermanentRedirect}, x.Status):
		return fault("status", "must be 200, 304 or 308")
	}
	return nil, nil
}

func readError(x contracttest.Interaction) (e plantapi.Error, err error) {
	return e, json.Unmarshal(x.Body, &e)
}

// failureFaults checks what the document says of a failure in words: that its
// number is one of ErrorCode and fits the status, and which members it has.
func failureFaults(x contracttest.Interaction) []contracttest.Fault {
	if x.Status < 400 {
		return nil
	}
	fault := func(where, format string, args ...any) []contracttest.Fault {
		return []contracttest.Fault{{Where: where, Keyword: "ErrorCode", Message: fmt.Sprintf(format, args...)}}
	}
	if got := x.Header.Get("Content-Type"); got != "application/json" {
		return fault("media type", "%q is not application/json", got)
	}
	e, err := readError(x)
	switch {
	case err != nil:
		return fault("body", "is not an Error: %v", err)
	case !slices.Contains(codes(), e.Error):
		return fault("body /error", "the document does not list %d", e.Error)
	case int(e.Error)/100 != x.Status:
		return fault("body /error", "%d does not match status %d", e.Error, x.Status)
	case e.Message == "":
		return fault("body /message", "is empty")
	}
	switch plantapi.ErrorCode(e.Error) {
	case plantapi.CodeInvalidBody, plantapi.CodeInvalidParameter, plantapi.CodeIDTaken:
		if e.Details == nil {
			return fault("body /details", "is required with %d", e.Error)
		}
	}
	if x.Status >= 500 && (e.RequestID == nil || *e.RequestID != x.Header.Get("X-Request-Id")) {
		return fault("body /request_id", "must be the X-Request-Id with a status of 500 or more")
	}
	return nil
}

// eventFaults checks what the document says of the events of a stream in words.
func eventFaults(x contracttest.Interaction) []contracttest.Fault {
	fault := func(format string, args ...any) []contracttest.Fault {
		return []contracttest.Fault{{Where: "body", Keyword: "event", Message: fmt.Sprintf(format, args...)}}
	}
	events, _ := x.Events()
	for i, e := range events {
		schema := "Change"
		switch {
		case e.Type == "end" && e.ID == "" && i == len(events)-1:
			schema = "Error"
		case e.Type != "":
			return fault("has the type %q, the id %q and %d events after it", e.Type, e.ID, len(events)-1-i)
		}
		var data map[string]any
		if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
			return fault("has data that is no object: %v", err)
		}
		if err := schemas()[schema].Value.VisitJSON(data, openapi3.VisitAsResponse()); err != nil {
			return fault("has data that is no %s: %v", schema, err)
		}
		if schema == "Change" && data["position"] != e.ID {
			return fault("has the id %q and the position %v", e.ID, data["position"])
		}
	}
	return nil
}

// numbers are the error codes for what is wrong with a request.
var numbers = map[contracttest.Kind]plantapi.ErrorCode{
	contracttest.UnknownPath: plantapi.CodeNoSuchPath, contracttest.UnknownMethod: plantapi.CodeMethodNotAllowed,
	contracttest.NoCredentials: plantapi.CodeNoCredentials, contracttest.BadCredentials: plantapi.CodeBadCredentials,
	contracttest.MissingScope: plantapi.CodeInsufficientScope, contracttest.InvalidParameter: plantapi.CodeInvalidParameter,
	contracttest.MissingBody: plantapi.CodeMissingBody, contracttest.WrongMediaType: plantapi.CodeUnsupportedMediaType,
	contracttest.MalformedBody: plantapi.CodeMalformedBody, contracttest.InvalidBody: plantapi.CodeInvalidBody,
	contracttest.UnknownPosition: plantapi.CodePositionGone,
	contracttest.UnknownResource: plantapi.CodeNoSuchPlant, contracttest.PreconditionFailed: plantapi.CodePreconditionFailed,
	contracttest.Conflict: plantapi.CodeIDTaken,
}

// refusalFaults checks that a refusal says what is wrong and where.
func refusalFaults(why contracttest.Violation, x contracttest.Interaction) []contracttest.Fault {
	if faults := failureFaults(x); faults != nil {
		return faults
	}
	e, _ := readError(x)
	if e.Error != int32(numbers[why.Kind]) {
		return []contracttest.Fault{{Where: "body /error", Keyword: "ErrorCode", Message: fmt.Sprintf("is not %d", numbers[why.Kind])}}
	}
	if why.In == "" {
		return nil
	}
	if e.Details != nil {
		for _, d := range *e.Details {
			if string(d.In) == why.In && d.Pointer == why.Pointer {
				return nil
			}
		}
	}
	return []contracttest.Fault{{Where: "body /details", Keyword: "pointer", Message: fmt.Sprintf("none points at %s %s", why.In, why.Pointer)}}
}
