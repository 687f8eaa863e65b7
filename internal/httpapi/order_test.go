package httpapi_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/token"
)

// A request with several faults is refused for the first of them in the order of the
// document. Each case begins with a request with every possible fault and corrects
// one after the other.
func TestOrderOfRefusals(t *testing.T) {
	t.Parallel()
	s := newService(t)
	// The token has used its limit, and there is no capacity.
	limited := newService(t, withStore(s.store), withOptions(func(o *httpapi.Options) {
		o.RateLimit = httpapi.Rate{Limit: 1, Per: time.Hour}
	}))
	limited.call(http.MethodGet, "/plants", "").wantStatus(t, http.StatusOK)
	text := newToken(t, s.store, token.Read)
	limited.call(http.MethodGet, "/plants", "", header("Authorization", "Bearer "+text)).wantStatus(t, http.StatusOK)
	defer httpapi.FillSlots(limited.handler)()
	full := newService(t, withStore(s.store))
	defer httpapi.FillSlots(full.handler)()
	s.post(`{"id":1,"name":"n"}`).wantStatus(t, http.StatusOK)

	// mend is one step: what it changes in the request, and the error from then on.
	type mend struct {
		method, path, body string
		header             [2]string
		want               plantapi.ErrorCode

		to *service // nil: s
	}
	for name, steps := range map[string][]mend{
		"put": {
			{method: "BREW", path: "/nowhere/?x", body: "-", want: plantapi.CodeNoSuchPath},
			{path: "/plants/x?x", want: plantapi.CodeMethodNotAllowed},
			{method: "PUT", want: plantapi.CodeNoCredentials},
			{header: [2]string{"Authorization", "Bearer x"}, want: plantapi.CodeBadCredentials},
			{header: [2]string{"Authorization", "Bearer " + text}, want: plantapi.CodeInsufficientScope, to: limited},
			{header: [2]string{"Authorization", "Bearer " + staticToken}, want: plantapi.CodeTooManyRequests, to: limited},
			{want: plantapi.CodeUnavailable, to: full},
			{want: plantapi.CodeInvalidParameter},
			{path: "/plants/1", body: "none", want: plantapi.CodeMissingBody},
			{body: filled(maxBody + 1), want: plantapi.CodeUnsupportedMediaType},
			{header: [2]string{"Content-Type", "application/json"}, want: plantapi.CodeBodyTooLarge},
			{header: [2]string{"If-Match", `"another"`}, body: `{"name":1,}`, want: plantapi.CodeMalformedBody},
			{body: `{"name":1}`, want: plantapi.CodeInvalidBody},
			{body: `{"name":"m"}`, want: plantapi.CodePreconditionFailed},
		},
		"patch": {
			{method: "PATCH", path: "/plants/2", body: `{"name":1,}`, want: plantapi.CodeNoCredentials},
			{header: [2]string{"Authorization", "Bearer " + staticToken}, want: plantapi.CodeUnsupportedMediaType},
			{header: [2]string{"Content-Type", "application/merge-patch+json"}, want: plantapi.CodeMalformedBody},
			{header: [2]string{"If-Match", `"another"`}, body: `{"name":1}`, want: plantapi.CodeInvalidBody},
			{body: `{"name":"m"}`, want: plantapi.CodeNoSuchPlant},
			{path: "/plants/1", want: plantapi.CodePreconditionFailed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var now mend
			headers := http.Header{}
			for _, step := range steps {
				now.method, now.path = cmp.Or(step.method, now.method), cmp.Or(step.path, now.path)
				now.body = cmp.Or(step.body, now.body)
				if step.header[0] != "" {
					headers.Set(step.header[0], step.header[1])
				}
				body := strings.TrimPrefix(now.body, "none")
				to := cmp.Or(step.to, s).with(t)
				to.send(now.method, now.path, body, func(r *http.Request) { r.Header = headers.Clone() }).wantError(t, step.want)
			}
		})
	}
	if p := s.call(http.MethodGet, "/plants/1", "").plant(t); p.Name != "n" {
		t.Errorf("a refused request has changed the plant: %+v", p)
	}
	s.wantNone(2)
}
