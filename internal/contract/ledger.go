package contract

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// ledger knows which promises of the document some test has received, and the
// first test that did.
type ledger struct {
	mu   sync.Mutex
	seen map[string]string
}

// received is the ledger of this test binary.
var received = &ledger{seen: map[string]string{}}

// Main runs the tests of a package and then fails if a promise of the document
// was not received by any of them. A part of the tests, as with -run, owes
// nothing. If CONTRACT_REPORT names a file, a report is written there.
func Main(m *testing.M) {
	code := m.Run()
	if path := os.Getenv(reportVariable); path != "" {
		if err := writeReport(path, os.Stdout); err != nil {
			fmt.Println("contract:", err)
			code = 1
		}
	}
	if code == 0 && wholeRun() {
		missing, err := Missing()
		if err != nil {
			fmt.Println("contract:", err)
			code = 1
		}
		for _, promise := range missing {
			fmt.Println("contract: no test has received:", promise)
			code = 1
		}
	}
	os.Exit(code)
}

// Missing lists the promises of the document that nobody has received so far.
func Missing() ([]string, error) {
	ds, err := documents()
	if err != nil {
		return nil, err
	}
	received.mu.Lock()
	defer received.mu.Unlock()
	var missing []string
	for _, promise := range promises(ds.api) {
		if received.seen[promise] == "" && exceptions[promise] == "" {
			missing = append(missing, promise)
		}
	}
	return missing, nil
}

// wholeRun reports whether every test of the package has run.
func wholeRun() bool {
	for _, name := range []string{"run", "skip", "list", "bench", "fuzz", "fuzzworker"} {
		f := flag.Lookup("test." + name)
		if f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return false
		}
	}
	return !testing.Short()
}

// promises lists everything that the document promises: of each operation what
// credentials open it, each keyword of each parameter and body to obey and to
// break, each status, media type, header and example, each link, and what calls
// that follow one another must see.
func promises(d *document) []string {
	var all []string
	s := newSuite(d, 0)
	for _, test := range append(s.routes(), s.sequences()...) {
		all = append(all, test.promise)
	}
	for _, r := range d.routes {
		of := func(promises ...string) {
			for _, promise := range promises {
				all = append(all, r.operation.OperationID+", "+promise)
			}
		}
		of("security, none", "security, bad", "security, scope", "security, good", "unknown parameter")
		for _, ref := range r.operation.Parameters {
			of(parameterKeywords(ref.Value)...)
		}
		of(bodyPromises(r)...)
		for name := range r.parameters() {
			all = append(all, parameterExample(r, name))
		}
		for name := range requestExamples(r) {
			all = append(all, requestExample(r, name))
		}
		for code, ref := range r.operation.Responses.Map() {
			status, _ := strconv.Atoi(code)
			all = append(all, answerOf(r, status))
			for name := range ref.Value.Headers {
				all = append(all, headerOf(r, status, name))
			}
			for _, media := range ref.Value.Content {
				for name := range media.Examples {
					all = append(all, exampleOf(r, status, ref, name))
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// parameters returns the examples of the parameters of an operation as they are
// written in a request. Versions are left out: no example can be one that lives.
func (r documentRoute) parameters() map[string]string {
	examples := map[string]string{}
	for _, ref := range r.operation.Parameters {
		if p := ref.Value; p.In != "header" && p.Example != nil {
			examples[p.Name] = fmt.Sprint(p.Example)
		}
	}
	return examples
}

func requestExamples(r documentRoute) map[string]*openapi3.MediaType {
	examples := map[string]*openapi3.MediaType{}
	if r.operation.RequestBody != nil {
		for _, media := range r.operation.RequestBody.Value.Content {
			for name := range media.Examples {
				examples[name] = media
			}
		}
	}
	return examples
}

func parameterExample(r documentRoute, name string) string {
	return fmt.Sprintf("%s, example of parameter %s", r.operation.OperationID, name)
}

func requestExample(r documentRoute, name string) string {
	return fmt.Sprintf("%s, request example %s", r.operation.OperationID, name)
}

// answerOf names an answer. That something broke is one promise for all
// operations, as whatever may break is not of an operation; its limits are.
func answerOf(r documentRoute, status int) string {
	if status == http.StatusInternalServerError {
		return fmt.Sprintf("any operation, %d", status)
	}
	return fmt.Sprintf("%s, %d", r.operation.OperationID, status)
}

func headerOf(r documentRoute, status int, name string) string {
	return fmt.Sprintf("%s, header %s", answerOf(r, status), name)
}

// exampleOf names an example of an answer. The examples of a response that
// several operations share are promised once.
func exampleOf(r documentRoute, status int, ref *openapi3.ResponseRef, name string) string {
	if ref.Ref != "" {
		return fmt.Sprintf("%s, example %s", path.Base(ref.Ref), name)
	}
	return fmt.Sprintf("%s, example %s", answerOf(r, status), name)
}

// enter notes what an exchange without fault has shown.
func (l *ledger) enter(d *document, x Exchange, test string) {
	r := d.find(x.Method, x.Path)
	if r == nil {
		return // beside the document
	}
	ref := r.operation.Responses.Status(x.Status)
	l.mu.Lock()
	defer l.mu.Unlock()
	note := func(promise string) { l.noteLocked(promise, test) }
	note(answerOf(*r, x.Status))
	for name := range ref.Value.Headers {
		if len(x.Header.Values(name)) > 0 {
			note(headerOf(*r, x.Status, name))
		}
	}
	for _, media := range ref.Value.Content {
		for name, example := range media.Examples {
			if promise := exampleOf(*r, x.Status, ref, name); l.seen[promise] == "" && shown(media, example, x.Body) {
				note(promise)
			}
		}
	}
	for name, media := range requestExamples(*r) {
		if promise := requestExample(*r, name); l.seen[promise] == "" && shown(media, media.Examples[name], x.RequestBody) {
			note(promise)
		}
	}
	if sent, err := url.Parse(x.URL); err == nil {
		for name, example := range r.parameters() {
			if sent.Query().Get(name) == example || strings.Replace(r.template, "{"+name+"}", example, 1) == x.Path {
				note(parameterExample(*r, name))
			}
		}
	}
}

// note enters one promise.
func (l *ledger) note(promise, test string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteLocked(promise, test)
}

func (l *ledger) noteLocked(promise, test string) {
	if l.seen[promise] == "" {
		l.seen[promise] = test
	}
}

// shown reports whether a body is equal to an example. Members that the service
// makes up (readOnly in the document) need only be there.
func shown(media *openapi3.MediaType, example *openapi3.ExampleRef, body []byte) bool {
	var got, want any
	text, err := json.Marshal(example.Value.Value)
	if err != nil || json.Unmarshal(text, &want) != nil || json.Unmarshal(body, &got) != nil {
		return false
	}
	return reflect.DeepEqual(withoutReadOnly(media.Schema.Value, want), withoutReadOnly(media.Schema.Value, got))
}

// withoutReadOnly replaces the readOnly members of a value by a mark.
func withoutReadOnly(schema *openapi3.Schema, value any) any {
	switch value := value.(type) {
	case []any:
		if schema.Items != nil {
			for i := range value {
				value[i] = withoutReadOnly(schema.Items.Value, value[i])
			}
		}
	case map[string]any:
		for name, member := range value {
			if property := propertyOf(schema, name); property != nil {
				if property.ReadOnly {
					member = "made up by the service"
				}
				value[name] = withoutReadOnly(property, member)
			}
		}
	}
	return value
}
