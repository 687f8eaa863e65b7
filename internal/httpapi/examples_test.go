package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// TestExamples sends every request example of the document, and requests that lead to
// the response examples.
func TestExamples(t *testing.T) {
	s := newService(t)
	for _, body := range []string{
		`{"id":3,"name":"Monstera deliciosa","tag":"Araceae"}`,
		`{"id":4,"name":"Quercus robur"}`,
		`{"id":5,"name":"Ilex","tag":"Aquifoliaceae"}`,
		`{"id":6,"name":"Hedera helix"}`,
	} {
		s.post(body).wantStatus(t, http.StatusOK)
	}
	for _, c := range []struct {
		method, path, body string
		want               int // a status or an error number
	}{
		{"GET", "/plants?limit=2", "", 200},
		{"GET", "/plants?after=8", "", 200},
		{"GET", "/plants?tag=Moraceae", "", 200},
		{"GET", "/plants?limit=0", "", 40003},
		{"GET", "/plants?offset=2", "", 40003},
		{"POST", "/plants", `{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}`, 200},
		{"POST", "/plants", `{"id":2,"name":"Ginkgo biloba"}`, 200},
		{"GET", "/plants/3", "", 200},
		{"GET", "/plants/three", "", 40003},
		{"GET", "/plants/404", "", 40401},
		{"PUT", "/plants/4", `{"name":"Quercus robur"}`, 200},
		{"DELETE", "/plants/4", "", 204},
		{"PUT", "/plants/4", `{"name":"Quercus robur"}`, 201},
		{"PUT", "/plants/4", `{}`, 40002},
		{"PATCH", "/plants/5", `{"name":"Ilex aquifolium"}`, 200},
		{"PATCH", "/plants/5", `{"tag":null}`, 200},
		{"PATCH", "/plants/5", `{"name":null}`, 40002},
		{"DELETE", "/plants/6", "", 204},
		{"POST", "/plants:batch", `{"plants":[{"id":7,"name":"Mentha spicata","tag":"Lamiaceae"},{"id":8,"name":"Taxus baccata"}]}`, 200},
		{"POST", "/plants:batch", `{"plants":[{"id":9,"name":"a"},{"id":9}]}`, 40002},
		{"POST", "/plants:batch", `{"plants":[{"id":9,"name":"a"},{"id":8,"name":"b"}]}`, 40010},
		{"POST", "/plants:batch", `{"plants":[{"id":9,"name":"a"},{"id":9,"name":"a"}]}`, 40010},
	} {
		a := s.call(c.method, c.path, c.body)
		if c.want > 999 {
			a.wantError(t, plantapi.ErrorCode(c.want))
		} else {
			a.wantStatus(t, c.want)
		}
	}
}
