package contracttest

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// ownSecretDocument is of a service in which a request may end the credentials of the user who sends it.
const ownSecretDocument = `
openapi: 3.0.3
info: {title: Own secret, version: "1"}
security: [{bearer: []}]
paths:
  /notes:
    get:
      operationId: listNotes
      responses: {"200": {description: All., content: {application/json: {schema: {type: array, items: {type: string}}}}}, "401": {description: No credentials.}}
    post:
      operationId: addNote
      requestBody: {required: true, content: {application/json: {schema: {type: object, required: [text], properties: {text: {type: string}}}}}}
      responses: {"201": {description: Added.}, "400": {description: No note.}, "401": {description: No credentials.}}
  /secret:
    put:
      operationId: setSecret
      requestBody: {required: true, content: {application/json: {schema: {type: object, required: [secret], properties: {secret: {type: string}}}}}}
      responses: {"204": {description: Set.}, "400": {description: No secret.}, "401": {description: No credentials.}}
components: {securitySchemes: {bearer: {type: http, scheme: bearer}}}
`

// ownSecret is the service. With a closed door, notes are refused with 401 to all users.
func ownSecret(isClosed bool) http.Handler {
	var mu sync.Mutex
	secret := "first"
	read := func(w http.ResponseWriter, r *http.Request, name string) (text string, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+secret {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return "", false
		}
		var body map[string]json.RawMessage
		if json.NewDecoder(r.Body).Decode(&body) != nil || json.Unmarshal(body[name], &text) != nil || string(body[name]) == "null" {
			w.WriteHeader(http.StatusBadRequest)
			return "", false
		}
		if name == "secret" {
			secret = text
		}
		return text, true
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /notes", func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.NoBody
		mu.Lock()
		isRight := r.Header.Get("Authorization") == "Bearer "+secret
		mu.Unlock()
		if !isRight {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[]`))
	})
	mux.HandleFunc("POST /notes", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := read(w, r, "text"); !ok {
			return
		}
		if isClosed {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusCreated)
	})
	mux.HandleFunc("PUT /secret", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := read(w, r, "secret"); ok {
			w.WriteHeader(http.StatusNoContent)
		}
	})
	return mux
}

// A request that ends the credentials of the run accuses no operation of the 401 that follow, and the report names it.
func TestCredentialsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		isClosed bool
		exclude  []string
		warning  string // empty: there is none
	}{
		"a new secret":                  {warning: "after PUT /secret the service no longer accepted the credentials"},
		"it is excluded":                {exclude: []string{"setSecret"}},
		"other requests are refused":    {isClosed: true, exclude: []string{"setSecret"}},
		"a new secret, others, refused": {isClosed: true, warning: "after PUT /secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := Options{Seed: 1, Header: http.Header{"Authorization": {"Bearer first"}}, Exclude: c.exclude}
			contract, err := New([]byte(ownSecretDocument), options)
			if err != nil {
				t.Fatal(err)
			}
			shown := ran(t, contract, inProcess{ownSecret(c.isClosed)})
			for _, cause := range shown.Causes {
				if cause.First.Sent.Status == http.StatusUnauthorized {
					t.Errorf("accused: %s", cause)
				}
			}
			warnings := strings.Join(shown.Warnings, "\n")
			if isRight := strings.Contains(warnings, c.warning) && (warnings == "") == (c.warning == ""); !isRight {
				t.Errorf("the warnings are %q, want %q", warnings, c.warning)
			}
		})
	}
}

// settings are those of a service that may fail at the paths with a prefix once it has another zone.
type settings struct {
	failing string
	status  int

	mu    sync.Mutex
	isSet bool
}

func (s *settings) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	isKnown := r.Method == http.MethodGet && r.URL.Path != "/api/v1/settings"
	isSetting := r.Method == http.MethodPut && r.URL.Path == "/api/v1/settings"
	var body struct{ Zone *string }
	switch {
	case s.isSet && strings.HasPrefix(r.URL.Path, s.failing):
		w.WriteHeader(s.status)
	case isSetting && (json.NewDecoder(r.Body).Decode(&body) != nil || body.Zone == nil):
		w.WriteHeader(http.StatusBadRequest)
	case isSetting:
		s.isSet = true
		w.WriteHeader(http.StatusNoContent)
	case isKnown:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[]`))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// A change after which every request fails is one cause, and the run ends with it. That one part of the service fails, or that it is
// closed for a while, does not end the run.
func TestServiceBroken(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("testdata/believed/settings.yaml")
	must.NoError(t, err)
	const broken = "after setSettings every request fails"
	for name, c := range map[string]struct {
		*settings
		exclude []string
		isEnded bool
	}{
		"all":            {settings: &settings{failing: "/", status: 500}, isEnded: true},
		"notes alone":    {settings: &settings{failing: "/api/v1/n", status: 500}},
		"it is excluded": {settings: &settings{failing: "/", status: 500}, exclude: []string{"setSettings"}},
		"closed":         {settings: &settings{failing: "/", status: 503}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contract, err := New(document, Options{Seed: 1, Exclude: c.exclude})
			must.NoError(t, err)
			shown := ran(t, contract, inProcess{c.settings})
			causes := causeTexts(shown.Causes)
			if isEnded := slices.Contains(causes, broken); isEnded != c.isEnded || isEnded && len(causes) > 1 {
				t.Errorf("the causes are %q", causes)
			}
			warning := "after PUT /api/v1/settings every request failed, and nothing more was tested: exclude setSettings (--exclude)"
			if slices.Contains(shown.Warnings, warning) != c.isEnded {
				t.Errorf("the warnings are %q", shown.Warnings)
			}
			for _, cause := range shown.Causes {
				if cause.Cause == broken && !strings.Contains(cause.Script(), "PUT") {
					t.Errorf("the script does not have the change:\n%s", cause.Script())
				}
			}
		})
	}
}
