package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
)

// FuzzBody checks that the response to any body is a Plant with what was sent, or an
// Error with 400, and never a 5xx.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}`,
		`{"id":-9223372036854775808,"name":"","tag":""}`,
		`{"id":1e0,"name":"n"}`, `{"id":9223372036854775808,"name":"n"}`, `{"id":1E400,"name":"n"}`, `{"id":-0,"name":"n"}`,
		`{"id":1,"name":"\ud83c\udf35"}`, `{"id":1,"name":"\ud83c"}`, `{"id":1,"id":2}`, `{"id":1}{}`,
		`null`, `[]`, `[[[[`, `{`, `"`, ``, ` `, "\xff", `{"id":1,"name":null,"tag":[{}]}`, `{"x~/":0}`,
	} {
		f.Add([]byte(seed))
	}
	bare := newService(f, offline).handler
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/plants", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+staticToken)
		w := httptest.NewRecorder()
		plantcontract.Plants().Handler(t, bare).ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK:
			var sent, got plantapi.Plant
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			// encoding/json reads NAME as name, so only plain bodies can be compared
			if json.Unmarshal(body, &sent) == nil && !hasOddNames(body) && sent.Name != got.Name {
				t.Errorf("sent %q, got %q", sent.Name, got.Name)
			}
		case http.StatusBadRequest:
			response{w.Result(), w.Body.String()}.wantError(t, errorCode(t, w.Body.Bytes()))
		default:
			t.Errorf("%q: got %d %s", body, w.Code, w.Body)
		}
	})
}

// hasOddNames reports whether a body has a member whose name differs from one of a
// plant only by case.
func hasOddNames(body []byte) bool {
	var members map[string]any
	if json.Unmarshal(body, &members) != nil {
		return true
	}
	for name := range members {
		if name != "name" && strings.EqualFold(name, "name") {
			return true
		}
	}
	return false
}

func errorCode(t testing.TB, body []byte) plantapi.ErrorCode {
	var e plantapi.Error
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatal(err)
	}
	code := plantapi.ErrorCode(e.Error)
	if !code.Valid() {
		t.Errorf("error %d is not in ErrorCode", e.Error)
	}
	return code
}
