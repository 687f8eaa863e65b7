package contracttest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/run"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// What the header has is sent with every request, unless that has it already. Where a test is about credentials, the
// one of the scheme is left out.
func TestHeader(t *testing.T) {
	t.Parallel()
	for scheme, want := range map[string]string{
		"{type: http, scheme: bearer}":                  "Bearer token",
		"{type: http, scheme: basic}":                   "Basic ZmljdXM6cG90",
		"{type: apiKey, in: header, name: X-Key}":       "key",
		"{type: apiKey, in: cookie, name: session}":     "cookie",
		"{type: apiKey, in: query, name: key}":          "",
		"{type: openIdConnect, openIdConnectUrl: '/x'}": "Bearer token",
	} {
		header := http.Header{"X-Key": {"key"}, "Cookie": {"a=b; session=cookie"}, "Authorization": {"Bearer token"}}
		if strings.Contains(scheme, "basic") {
			header.Set("Authorization", "Basic ZmljdXM6cG90")
		}
		c := contractFrom(t, strings.Replace(securedDocument, "{type: http, scheme: bearer}", scheme, 1), Options{Header: header})
		if got := run.CredentialIn(c.options.Header, c.document.Scheme("token")); got != want {
			t.Errorf("the credential of %s is %q, want %q", scheme, got, want)
		}
		sent := http.Header{"X-Other": {"1"}, "X-Key": {"of the test"}, "Cookie": {"c=d"}}
		c.runner.AddHeader(sent, scenario.Access{})
		isKept := sent.Get("X-Key") == "of the test" && sent.Get("Cookie") == "c=d; a=b; session=cookie"
		if len(sent) != 4 || !isKept {
			t.Errorf("with %s every request has %v", scheme, sent)
		}
		sent = http.Header{}
		c.runner.AddHeader(sent, scenario.Only())
		credential, others := document.CredentialHeader(c.document.Scheme("token")), 2
		if credential == "" {
			others = 3
		}
		if len(sent) != others || sent[credential] != nil {
			t.Errorf("with %s a test of credentials sends %v", scheme, sent)
		}
	}
}

// A document that has a scheme, and does not say which operations need it, is tested with the header that was
// given. That an operation is open is then no promise.
func TestUnsaidSecurity(t *testing.T) {
	t.Parallel()
	text := strings.Replace(securedDocument, "security: [{token: []}]\n", "", 1)
	c := contractFrom(t, text, Options{Header: http.Header{"Authorization": {"Bearer secret"}}})
	report, err := c.Run(t.Context(), Target{URL: "http://things.example/v1", Transport: inProcess{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		thingsHandler(asNumber).ServeHTTP(w, r)
	})}})
	must.NoError(t, err)
	for _, cause := range report.Causes {
		t.Errorf("the service is accused: %s", cause)
	}
	for _, promise := range report.Promises {
		isOpen := promise.Name == "getThing, security, open"
		isUnsaid := strings.Contains(promise.Why, "does not say which operations")
		if isOpen != isUnsaid {
			t.Errorf("%s is %s: %s", promise.Name, promise.State, promise.Why)
		}
	}
}

// Without credentials, a service whose security is switched off is tested, and that is told in one
// line. One that asks for them is asked once for each operation, and its promises are not tested.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	for isOff, want := range map[bool][]string{true: {"requests without credentials are not refused"}, false: nil} {
		c := contractFrom(t, strings.Replace(securedDocument, `        "400"`, "        \"401\": {description: Not allowed.}\n        \"400\"", 1), Options{})
		asked := 0
		report, err := c.Run(t.Context(), Target{URL: "http://things.example/v1", Transport: inProcess{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isOff {
				thingsHandler(asNumber).ServeHTTP(w, r)
				return
			}
			if r.Header.Get("Authorization") == "" && strings.HasPrefix(r.URL.Path, "/v1/things/") && r.Method == "GET" {
				asked++
			}
			w.WriteHeader(http.StatusUnauthorized)
		})}})
		must.NoError(t, err)
		if causes := causeTexts(report.Causes); !slices.Equal(causes, want) {
			t.Errorf("security off %t: the causes are %q", isOff, causes)
		}
		notTested := 0
		for _, promise := range report.Promises {
			if strings.Contains(promise.Why, "no credentials were given") {
				notTested++
			}
		}
		if isOff != (notTested == 2) || asked > 3 {
			t.Errorf("security off %t: %d promises are not tested, %d requests were sent without credentials", isOff, notTested, asked)
		}
	}
}

// A credential that is nearly right is wrong, and one that is missing behind its scheme is no reason to fail.
func TestFormsOfCredentials(t *testing.T) {
	t.Parallel()
	const right = "Bearer a-secret-token"
	for name, c := range map[string]struct {
		opens func(given string) int
		want  []string
	}{
		"right": {func(given string) int { return map[bool]int{true: http.StatusOK}[given == right] }, nil},
		"the beginning of the token is taken": {
			func(given string) int {
				return map[bool]int{true: http.StatusOK}[given != "" && strings.HasPrefix(right, given) && len(given) > len("Bearer ")]
			},
			[]string{"requests with wrong credentials are not refused"},
		},
		"a scheme alone is a crash": {
			func(given string) int {
				if given == "Bearer" {
					return http.StatusInternalServerError
				}
				return map[bool]int{true: http.StatusOK}[given == right]
			},
			[]string{"wrong credentials give 500"},
		},
	} {
		options := Options{Seed: 1, Header: http.Header{"Authorization": {right}}}
		contract := contractFrom(t, strings.Replace(securedDocument, `        "400"`, "        \"401\": {description: Not allowed.}\n        \"400\"", 1), options)
		service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			isThing := strings.HasPrefix(r.URL.Path, "/v1/things/") && r.Method == http.MethodGet
			if status := c.opens(r.Header.Get("Authorization")); isThing && status != http.StatusOK {
				w.WriteHeader(max(status, http.StatusUnauthorized))
				return
			}
			thingsHandler(asNumber).ServeHTTP(w, r)
		})
		report, err := contract.Run(t.Context(), Target{URL: "http://things.example/v1", Transport: inProcess{service}})
		must.NoError(t, err)
		if causes := causeTexts(report.Causes); !slices.Equal(causes, c.want) {
			t.Errorf("%s: the causes are %q, want %q", name, causes, c.want)
		}
	}
}
