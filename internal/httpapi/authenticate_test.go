package httpapi_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/token"
)

func TestCredentials(t *testing.T) {
	s := start(t, nil)
	stored, text := token.New("writer", []token.Scope{token.Write}, time.Hour)
	if err := s.store.CreateToken(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	_, stranger := token.New("stranger", nil, 0)
	for name, c := range map[string]struct {
		authorization []string
		want          plantapi.ErrorCode // 0: accepted
	}{
		"stored":             {[]string{"Bearer " + text}, 0},
		"static":             {[]string{"Bearer " + staticToken}, 0},
		"scheme in any case": {[]string{"bEARER " + text}, 0},
		"more spaces":        {[]string{"Bearer   " + text}, 0},
		"none":               {nil, plantapi.CodeNoCredentials},
		"empty":              {[]string{""}, plantapi.CodeNoCredentials},
		"another scheme":     {[]string{"Basic dXNlcjpwYXNz"}, plantapi.CodeNoCredentials},
		"scheme alone":       {[]string{"Bearer"}, plantapi.CodeBadCredentials},
		"unknown":            {[]string{"Bearer " + stranger}, plantapi.CodeBadCredentials},
		"malformed":          {[]string{"Bearer pst_"}, plantapi.CodeBadCredentials},
		"a word too much":    {[]string{"Bearer " + text + " x"}, plantapi.CodeBadCredentials},
		"two headers":        {[]string{"Bearer " + text, "Bearer " + text}, plantapi.CodeBadCredentials},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.with(t).post(`{"id":1,"name":"n"}`, func(r *http.Request) { r.Header["Authorization"] = c.authorization })
			if c.want == 0 {
				if a.StatusCode != http.StatusOK {
					t.Errorf("answered %s %s, want 200", a.Status, a.body)
				}
				return
			}
			a.wantError(t, c.want)
			want := `Bearer realm="plantstore"`
			if c.want == plantapi.CodeBadCredentials {
				want += `, error="invalid_token"`
			}
			if got := a.Header.Get("WWW-Authenticate"); got != want {
				t.Errorf("WWW-Authenticate is %q, want %q", got, want)
			}
		})
	}
}

// No operation of the document is open, and none is open to the wrong scope.
func TestEveryOperationNeedsItsScope(t *testing.T) {
	s := start(t, nil)
	tokens := map[string]string{} // by the scope they lack
	for lacks, has := range map[string]token.Scope{"write": token.Read, "read": token.Write} {
		stored, text := token.New("has "+string(has), []token.Scope{has}, time.Hour)
		if err := s.store.CreateToken(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		tokens[lacks] = text
	}
	doc, err := openapi3.NewLoader().LoadFromData(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			t.Run(operation.OperationID, func(t *testing.T) {
				s := s.with(t)
				path := strings.ReplaceAll(path, "{id}", "1")
				scope := operation.Extensions["x-required-scope"].(string)
				a := s.send(method, path, "")
				a.wantError(t, plantapi.CodeNoCredentials)
				if got, want := a.Header.Get("WWW-Authenticate"), `Bearer realm="plantstore"`; got != want {
					t.Errorf("WWW-Authenticate is %q, want %q", got, want)
				}
				a = s.send(method, path, "", header("Authorization", "Bearer "+tokens[scope]))
				a.wantError(t, plantapi.CodeInsufficientScope)
				want := fmt.Sprintf(`Bearer realm="plantstore", error="insufficient_scope", scope=%q`, scope)
				if got := a.Header.Get("WWW-Authenticate"); got != want {
					t.Errorf("WWW-Authenticate is %q, want %q", got, want)
				}
			})
		}
	}
}

// untouchable is a body that must not be read.
type untouchable struct{ t *testing.T }

func (u untouchable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.ErrUnexpectedEOF
}

func (untouchable) Close() error { return nil }

// Whatever is wrong with the body, a stranger is told about the credentials
// only, and the body is not touched.
func TestStrangersBodyIsUnread(t *testing.T) {
	store := openStore(t)
	handler := newHandler(t, store, store)
	reader, text := token.New("reader", []token.Scope{token.Read}, time.Hour)
	if err := store.CreateToken(t.Context(), reader); err != nil {
		t.Fatal(err)
	}
	for authorization, want := range map[string]plantapi.ErrorCode{
		"":                plantapi.CodeNoCredentials,
		"Bearer nonsense": plantapi.CodeBadCredentials,
		"Bearer " + text:  plantapi.CodeInsufficientScope,
	} {
		for _, length := range []int64{-1, 5, 1 << 40} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/plants", untouchable{t})
			r.ContentLength = length
			if authorization != "" {
				r.Header.Set("Authorization", authorization)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			answer{w.Result(), w.Body.String()}.wantError(t, want)
		}
	}
}

// A client that waits for leave to send its body is refused without it.
func TestNoContinueForStrangers(t *testing.T) {
	start(t, nil).speak("POST /plants HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"+
		"Content-Type: application/json\r\nContent-Length: 19\r\n\r\n", false).wantError(t, plantapi.CodeNoCredentials)
}

// A store that cannot look a token up makes nobody a stranger.
func TestTokenStoreDown(t *testing.T) {
	store := openStore(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/plants", untouchable{t})
	_, text := token.New("n", nil, 0)
	r.Header.Set("Authorization", "Bearer "+text)
	for err, want := range map[error]plantapi.ErrorCode{
		token.ErrUnavailable:        plantapi.CodeUnavailable,
		errors.New("a bug of ours"): plantapi.CodeInternal,
	} {
		w := httptest.NewRecorder()
		newHandler(t, store, faultyTokens{store, err}).ServeHTTP(w, r)
		answer{w.Result(), w.Body.String()}.wantError(t, want)
	}
}
