package contracttest

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// formsDocument has bodies that are no JSON.
const formsDocument = `openapi: 3.0.3
info: {title: Forms, version: 1.0.0}
paths:
  /members:
    post:
      operationId: addMember
      requestBody:
        required: true
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              required: [name, age]
              properties:
                name: {type: string, minLength: 3}
                age: {type: integer, minimum: 18}
                team: {type: array, items: {type: string}}
      responses: &responses
        '204': {description: Added.}
        '400': {description: It is wrong.}
        '415': {description: It is of another media type.}
  /photos:
    post:
      operationId: addPhoto
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema:
              type: object
              required: [title, photo]
              properties: {title: {type: string}, photo: {type: string, format: binary}}
      responses: *responses
  /lines:
    post:
      operationId: addLines
      requestBody: {required: true, content: {text/plain: {schema: {type: string}}}}
      responses: *responses
`

// forms is a service of formsDocument.
func forms(mistake string) http.Handler {
	respond := func(w http.ResponseWriter, r *http.Request, mediaType string, isRight func() bool) {
		switch {
		case !strings.HasPrefix(r.Header.Get("Content-Type"), mediaType):
			w.WriteHeader(http.StatusUnsupportedMediaType)
		case isRight():
			w.WriteHeader(http.StatusNoContent)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /members", func(w http.ResponseWriter, r *http.Request) {
		respond(w, r, "application/x-www-form-urlencoded", func() bool {
			isLong := len([]rune(r.FormValue("name"))) >= 3
			age, err := strconv.Atoi(r.FormValue("age"))
			isOld := err == nil && age >= 18
			return (isLong || mistake == "takes short names" && r.Form.Has("name")) && (isOld || mistake == "takes children" && err == nil)
		})
	})
	mux.HandleFunc("POST /photos", func(w http.ResponseWriter, r *http.Request) {
		respond(w, r, "multipart/form-data", func() bool {
			_, _, err := r.FormFile("photo")
			isWhole := err == nil || mistake == "needs no photo"
			return isWhole && r.PostForm.Has("title")
		})
	})
	mux.HandleFunc("POST /lines", func(w http.ResponseWriter, r *http.Request) {
		respond(w, r, "text/plain", func() bool {
			text, err := io.ReadAll(r.Body)
			isJSON := string(text) == `"Ficus"`
			return err == nil && len(text) > 0 && !isJSON
		})
	})
	return mux
}

// Bodies of forms and texts are sent, and what is wrong with a field is found.
func TestForms(t *testing.T) {
	t.Parallel()
	for mistake, want := range map[string]string{
		"":                  "",
		"takes short names": "addMember in requests: a value that breaks minLength is accepted as /name",
		"takes children":    "addMember in requests: a value that breaks minimum is accepted as /age",
		"needs no photo":    "addPhoto in requests: /photo is required, and may be missing",
	} {
		c, err := New([]byte(formsDocument), Options{Seed: 1})
		must.NoError(t, err)
		report, err := c.Run(t.Context(), Target{URL: "http://forms.example", Transport: inProcess{forms(mistake)}})
		must.NoError(t, err)
		isFound := func(cause Cause) bool { return cause.Cause == want }
		if want != "" && !slices.ContainsFunc(report.Causes, isFound) {
			t.Errorf("with %q the causes are %v", mistake, report.Causes)
		}
		if want == "" && len(report.Causes) > 0 {
			t.Errorf("the service is right, but %v", report.Causes)
		}
		for _, id := range []string{"addMember", "addPhoto", "addLines"} {
			if !slices.Contains(c.ledger.Statuses(id), http.StatusNoContent) {
				t.Errorf("no request of %s was accepted", id)
			}
		}
	}
}
