package contracttest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/run"
	sch "github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/scenario"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/toy"
)

// service is a right server of a document: kin-openapi alone decides what is
// valid, and a function for each operation responds.
type service struct {
	contract     *Contract
	credentials  Credentials
	respond      map[string]func(call) *reply
	failure      func(status int) *reply
	failureOf    func(r *document.Operation, status int) *reply // nil: failure
	isExact      bool                                           // responses have only members that schemas name
	keepsNothing bool

	// Requests come at the same time, and the functions change what they share.
	mu   sync.Mutex
	once sync.Once
	read *openapi3.T
}

// spec is the document as kin-openapi reads it.
func (s *service) spec() *openapi3.T {
	s.once.Do(func() {
		read, err := openapi3.NewLoader().LoadFromData(s.contract.text)
		if err != nil {
			panic(err) // a mistake in a test
		}
		s.read = read
	})
	return s.read
}

// kinFormats are the formats of the engine, of which kin-openapi does not define all.
var kinFormats = func() map[string]openapi3.StringFormatValidator {
	all := map[string]openapi3.StringFormatValidator{}
	for name, format := range sch.Formats {
		if format.Check != nil {
			all[name] = openapi3.NewCallbackValidator(format.Check)
		}
	}
	return all
}()

// call is a valid request.
type call struct {
	*http.Request
	id   string // the last path parameter
	body map[string]any
}

// reply is a response that is still to be written; a wrong server changes it.
type reply struct {
	status int
	header http.Header
	body   string
}

func newReply(status int, value any) *reply {
	r := &reply{status, http.Header{}, ""}
	if value != nil {
		r.header.Set("Content-Type", "application/json")
		r.body = string(jsonvalue.Encode(value))
	}
	return r
}

func (r *reply) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.body)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.reply(r).write(w) }

func (s *service) reply(r *http.Request) *reply {
	path := r.URL.EscapedPath()
	route := s.contract.document.Find(r.Method, path)
	if route == nil {
		if !s.contract.document.HasPath(path) {
			return s.failure(404)
		}
		var methods []string
		for _, other := range s.contract.document.Operations {
			if other.Matches(path) {
				methods = append(methods, other.Method)
			}
		}
		failed := s.failure(405)
		failed.header.Set("Allow", strings.Join(methods, ", "))
		return failed
	}
	fail := s.failure
	if s.failureOf != nil {
		fail = func(status int) *reply { return s.failureOf(route, status) }
	}
	parameters := map[string]string{}
	for i, text := range route.PathValues(path) {
		parameters[route.PathNames[i]], _ = url.PathUnescape(text)
	}
	text, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	r.ContentLength, r.GetBody = int64(len(text)), nil // kin-openapi prefers GetBody
	spec := s.spec()
	item := spec.Paths.Value(route.Template)
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: parameters,
		Route: &routers.Route{Spec: spec, Path: route.Template, PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)},
		Options: &openapi3filter.Options{
			AuthenticationFunc: s.authenticate, SkipSettingDefaults: true,
			// Not defined for all of kin-openapi: the engine must bring them itself.
			SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.WithStringFormatValidators(kinFormats)},
		},
	}
	if requirements := route.Requirements(); len(requirements) > 0 {
		var all openapi3.SecurityRequirements
		for _, requirement := range requirements {
			all = append(all, openapi3.SecurityRequirement(requirement))
		}
		if err := openapi3filter.ValidateSecurityRequirements(r.Context(), input, all); err != nil {
			return fail(401)
		}
	}
	input.Options.AuthenticationFunc = openapi3filter.NoopAuthenticationFunc
	if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
		return fail(400)
	}
	c := call{Request: r}
	if len(route.PathNames) > 0 {
		c.id = parameters[route.PathNames[len(route.PathNames)-1]]
	}
	if len(text) > 0 && strings.Contains(r.Header.Get("Content-Type"), "json") {
		if !jsontext.Value(text).IsValid() {
			return fail(400)
		}
		value, _ := jsonvalue.Decode(text)
		c.body, _ = value.(map[string]any)
		// kin-openapi reads integers as float64, so 2^63 passes as an int64, and a large fraction as an integer.
		_, schema := route.Body()
		for _, f := range sch.Faults("", schema, value) {
			if f.Keyword == "format" || f.Keyword == "type" {
				return fail(400)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.respond[route.ID](c)
}

// store lets a garden respond to the requests for which there is no function.
func (s *service) store(respond func(q call) *toy.Response) {
	for _, operation := range s.contract.document.Operations {
		if s.respond[operation.ID] != nil {
			continue
		}
		s.respond[operation.ID] = func(q call) *reply {
			body := q.body
			if body == nil {
				body = map[string]any{}
			}
			if q.body != nil || q.ContentLength == 0 {
				q.Body = io.NopCloser(bytes.NewReader(jsonvalue.Encode(body)))
			}
			return s.shown(operation, respond(q))
		}
	}
}

// shown is a response as the document has it: with a body and headers only where it has them.
func (s *service) shown(operation *document.Operation, a *toy.Response) *reply {
	response := operation.Response(a.Status)
	if response == nil || a.Status >= http.StatusBadRequest {
		return s.failure(a.Status)
	}
	shown := newReply(a.Status, nil)
	if len(response.Content) > 0 {
		body := a.Body
		if s.isExact {
			body = named([]*sch.Schema{operation.ResultOf(a.Status)}, body)
		}
		shown = newReply(a.Status, body)
	}
	for name := range response.Headers {
		if value := a.Header.Get(name); value != "" {
			shown.header.Set(name, value)
		}
	}
	return shown
}

// authenticate accepts the credentials of the service.
func (s *service) authenticate(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	sent := in.RequestValidationInput.Request
	want := httptest.NewRequest(http.MethodGet, "/", nil)
	scheme := s.contract.document.Scheme(in.SecuritySchemeName)
	run.Apply(want, scheme, scheme.Sent(s.credentials[in.SecuritySchemeName]))
	for name := range want.Header {
		if name == "Cookie" {
			if c, err := sent.Cookie(in.SecurityScheme.Name); err != nil || c.Value != s.credentials[in.SecuritySchemeName] {
				return errors.New("wrong cookie")
			}
		} else if sent.Header.Get(name) != want.Header.Get(name) {
			return errors.New("wrong header")
		}
	}
	for name, values := range want.URL.Query() {
		if sent.URL.Query().Get(name) != values[0] {
			return errors.New("wrong query")
		}
	}
	return nil
}

// contractOf reads a document of testdata.
func contractOf(t *testing.T, name string, o Options) *Contract {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	must.NoError(t, err)
	o.Seed = 1
	return contractFrom(t, string(text), o)
}

// contractFrom reads a document.
func contractFrom(t *testing.T, text string, o Options) *Contract {
	t.Helper()
	c, err := New([]byte(text), o)
	must.NoError(t, err)
	return c
}

// ran is the report of a run on a service.
func ran(t *testing.T, c *Contract, service http.RoundTripper) Report {
	t.Helper()
	report, err := c.Run(t.Context(), Target{URL: "http://service.example", Transport: service})
	must.NoError(t, err)
	return report
}

// inProcess calls a handler without a network.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	r.RequestURI = r.URL.RequestURI()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// firstFault runs generated tests until one finds a fault. What a service that keeps nothing loses is none.
func firstFault(tests []Case, of *service, handler http.Handler) (fault, by string) {
	target := Target{URL: "http://service.invalid", Transport: inProcess{handler}, Credentials: of.credentials}
	for _, test := range tests {
		failures, _ := attempt(test, target)
		for _, failure := range failures {
			if !of.keepsNothing || !isLoss(failure) {
				return failure.String(), test.Name
			}
		}
	}
	return "", ""
}

// isLoss reports whether a failure is that a service does not show what it was sent, or the default of what it was not.
func isLoss(failure Failure) bool {
	of := failure.Cause
	kinds := []scenario.PromiseKind{scenario.ShowsWhatWasSent, scenario.TakesDefaults}
	return of.Kind == scenario.SentIsLost || slices.Contains(kinds, of.Promise.Kind)
}

// wrong is a service with one fault. Each function may be nil.
type wrong struct {
	by        string                          // tests whose name has it are run first: it is faster
	request   func(r *http.Request)           // changes a request before the service sees it
	response  func(r *http.Request, a *reply) // changes a response
	toy.Fault                                 // of its garden, which sees valid requests alone
}

func (f wrong) of(s *service) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.request != nil {
			f.request(r)
		}
		a := s.reply(r)
		if f.response != nil {
			f.response(r, a)
		}
		a.write(w)
	})
}

// proof runs the generated tests on a right service, which must pass, and on
// wrong ones, none of which may.
func proof(t *testing.T, c *Contract, right func(toy.Fault) *service, wrongs map[string]wrong) {
	t.Helper()
	t.Parallel()
	tests := testsOf(c)
	if fault, by := firstFault(tests, right(toy.Fault{}), right(toy.Fault{})); fault != "" {
		t.Fatalf("the right service fails: %s: %s", by, fault)
	}
	for _, name := range slices.Sorted(maps.Keys(wrongs)) {
		s := right(wrongs[name].Fault)
		ordered := slices.Clone(tests)
		if first := wrongs[name].by; first != "" {
			slices.SortStableFunc(ordered, func(a, b Case) int {
				return cmp.Compare(strings.Count(b.Name, first), strings.Count(a.Name, first))
			})
		}
		fault, by := firstFault(ordered, s, wrongs[name].of(s))
		if fault == "" {
			t.Errorf("%s: no generated test found the fault", name)
		}
		t.Logf("%s: %s: %.200s", name, by, fault)
	}
	if len(wrongs) < 10 {
		t.Errorf("only %d wrong services", len(wrongs))
	}
}

// replaceBody replaces a text in the body of a request.
func replaceBody(old, new string) func(*http.Request) {
	return func(r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		text = bytes.Replace(text, []byte(old), []byte(new), 1)
		r.Body = io.NopCloser(bytes.NewReader(text))
	}
}

// replaceOdd is replaceBody where N in the old text is any of values.RobustnessNames.
func replaceOdd(old, new string) func(*http.Request) {
	return func(r *http.Request) {
		for _, name := range values.RobustnessNames {
			replaceBody(strings.Replace(old, "N", string(jsonvalue.Encode(name)), 1), new)(r)
		}
	}
}

// edit changes the object in a successful response.
func edit(method string, change func(object map[string]any)) func(*http.Request, *reply) {
	return func(r *http.Request, a *reply) {
		var object map[string]any
		if r.Method == method && a.status < 300 && decodeInto(a.body, &object) {
			change(object)
			a.body = string(jsonvalue.Encode(object))
		}
	}
}

// decodeInto reads an object and keeps its numbers as they are written.
func decodeInto(text string, object *map[string]any) bool {
	value, err := jsonvalue.Decode([]byte(text))
	if err == nil {
		*object, _ = value.(map[string]any)
	}
	return *object != nil
}

// TestMain also runs as the TestMain of another package.
func TestMain(m *testing.M) {
	if paths := os.Getenv("CONTRACT_MAIN"); strings.HasPrefix(paths, "/") {
		watchedMain(strings.Fields(paths))
	} else if paths != "" {
		mainOfTest()
	}
	os.Exit(m.Run())
}
