package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/oapi-codegen/runtime"
	"github.com/oapi-codegen/runtime/types"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/must"
)

const (
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data"
)

// fileTypes are those of files, which are only in multipart forms.
var fileTypes = []boundType{
	{"{type: string, format: binary}", "file", "", func() any { return new(types.File) }, []string{"a", "\xff\x00", ""}},
	{"{type: array, items: {type: string, format: binary}}", "file", "", func() any { return new([]types.File) }, []string{"a", "b"}},
}

// boundForm is a form with the member p of a type.
type boundForm struct {
	boundType
	mediaType string
}

// boundForms are the forms of all types, but for bytes, of which generated code can bind none.
func boundForms() (all []boundForm) {
	for _, of := range withLists(boundTypes) {
		if of.format == "byte" {
			continue
		}
		all = append(all, boundForm{of, formType}, boundForm{of, multipartType})
	}
	for _, of := range fileTypes {
		all = append(all, boundForm{of, multipartType})
	}
	return all
}

// parts returns the parts of a form as a client may send it. Most have the right name.
func (f boundForm) parts(draw draw) []filePart {
	parts := make([]filePart, 1+draw.IntN(3))
	for i := range parts {
		parts[i].name = "p"
		if f.kind == "object" && f.mediaType == formType {
			parts[i].name = draw.one("p[x]", "p[y]")
		}
		if draw.seldom(5) {
			parts[i].name = draw.one("p", "p[]", "p[0]", "p[1]", "p[", "p]", "P", "p[x]", "p[X]", "p[z]", "p[x][y]", "p[x]y]", "P[x]", "other", "other[")
		}
		parts[i].text = draw.likely(1, f.texts)
		if f.kind == "object" && f.mediaType == multipartType {
			parts[i].text = draw.one(`{}`, `{"x":"a"}`, `{"X":"a"}`, `{"x":7}`, `[]`, `x`)
		}
		isFile := f.kind == "file"
		if draw.seldom(5) {
			isFile = !isFile
		}
		if isFile {
			parts[i].file = draw.one("f", "a/b", "/", ".")
		}
		if draw.seldom(5) {
			parts[i].mediaType = draw.one("text/plain", "application/json", "image/png", "application/octet-stream", "x")
		}
	}
	return parts
}

// write returns the body of a form, and its media type.
func (f boundForm) write(t *testing.T, parts []filePart) (body []byte, mediaType string) {
	t.Helper()
	if f.mediaType == multipartType {
		return multipartBody(t, parts...)
	}
	var pairs []string
	for _, part := range parts {
		pairs = append(pairs, url.QueryEscape(part.name)+"="+url.QueryEscape(part.text))
	}
	return []byte(strings.Join(pairs, "&")), formType
}

// bind binds a form as code of oapi-codegen 2.8.2 does. It returns the member p, or nil if it is not set.
func (f boundForm) bind(r *http.Request) (member any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	body := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "P", Type: reflect.PointerTo(reflect.TypeOf(f.made()).Elem()), Tag: `json:"p,omitempty"`},
	}))
	if f.mediaType == multipartType {
		reader, err := r.MultipartReader()
		if err != nil {
			return nil, err
		}
		err = runtime.BindMultipart(body.Interface(), *reader)
		if err != nil {
			return nil, err
		}
	} else {
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		if err := runtime.BindForm(body.Interface(), r.Form, nil, nil); err != nil {
			return nil, err
		}
	}
	if bound := body.Elem().Field(0); !bound.IsNil() {
		return bound.Interface(), nil
	}
	return nil, nil
}

// Of a form that is accepted, generated code binds what was checked, and nothing else. PLANTSTORE_TEST_REQUESTS is how many
// requests there are.
func TestFormsOfGeneratedCode(t *testing.T) {
	forms := boundForms()
	var checkers []*contract.Checker
	for _, form := range forms {
		checkers = append(checkers, newChecker(t, []byte("openapi: 3.0.3\ninfo: {title: Bound, version: 1.0.0}\npaths:\n  /things: {post: {operationId: add, requestBody: {content: {"+
			form.mediaType+": {schema: {type: object, properties: {p: "+form.schema+"}}}}}, responses: {'200': {description: OK}}}}\n"),
			contract.Options{IgnoreUnknown: func(*contract.Operation) bool { return true }}))
	}
	figures := map[string]int{}
	for i := range must.Number(t, "PLANTSTORE_TEST_REQUESTS", 20_000) {
		draw := draw{rand.New(rand.NewPCG(seedOfRequests(), uint64(i)))}
		index := draw.IntN(len(forms))
		form := forms[index]
		parts := form.parts(draw)
		text, mediaType := form.write(t, parts)
		target := "/things" + draw.likely(1, []string{"", "?p=q", "?other=q"})
		r := httptest.NewRequest(http.MethodPost, target, bytes.NewReader(text))
		r.Header.Set("Content-Type", mediaType)
		isAccepted := false
		w := httptest.NewRecorder()
		checkers[index].Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			whole, err := io.ReadAll(r.Body)
			if err != nil {
				return // refused while it is read
			}
			isAccepted = true
			name := fmt.Sprintf("request %d: %s of %s%s: %q", i, form.mediaType, form.schema, target, parts)
			r.Body = io.NopCloser(bytes.NewReader(whole))
			bound, err := form.bind(r)
			if err != nil {
				t.Fatalf("%s\nis accepted, but generated code refuses it: %v", name, err)
			}
			form.compare(t, name, parts, contract.Body(r.Context()), bound)
		})).ServeHTTP(w, r)
		if isAccepted {
			figures["accepted"]++
		} else {
			figures["refused"]++
		}
	}
	t.Logf("figures: %v", figures)
	if figures["accepted"] < figures["refused"]/10 || figures["refused"] < figures["accepted"]/10 {
		t.Error("the test shows little")
	}
}

// compare ends the test unless generated code has bound what was checked.
func (f boundForm) compare(t *testing.T, name string, parts []filePart, checked, bound any) {
	t.Helper()
	switch isSent := slices.ContainsFunc(parts, func(part filePart) bool { return part.name == "p" }); {
	case f.kind == "file":
		if isSent != (bound != nil) {
			t.Fatalf("%s\nis accepted, and the file is bound as %v", name, bound)
		}
		return
	case f.kind == "object" && f.mediaType == multipartType, f.kind == "string" && strings.HasPrefix(f.format, "date"): // generated code reads neither JSON nor times in a form
		if bound != nil {
			t.Fatalf("%s\nis bound as %s", name, asJSON(t, bound))
		}
		return
	}
	members, _ := checked.(map[string]any)
	if object, isObject := members["p"].(map[string]any); isObject { // the struct has no other members
		maps.DeleteFunc(object, func(name string, _ any) bool { return name != "x" && name != "y" })
		if len(object) == 0 {
			delete(members, "p")
		}
	}
	if want, have := asJSON(t, members["p"]), asJSON(t, bound); want != have && !isSameTime(want, have) {
		t.Fatalf("%s\nis checked as %s, and bound as %s", name, want, have)
	}
}

// A member of an object that differs from one of the schema in upper and lower case only is not bound in place of it, unless it
// was checked as it, wherever the object is.
func TestNamesInOtherCase(t *testing.T) {
	const schema = "{type: object, properties: {Tag: {type: string}}}"
	type object struct {
		Tag *string `json:"Tag,omitempty"`
	}
	for _, c := range []struct{ operation, target, header, mediaType, body string }{
		{"requestBody: {content: {application/json: {schema: " + schema + "}}}", "/things", "", "application/json", `{"tag":[]}`},
		{"requestBody: {content: {application/json: {schema: {type: object, properties: {o: " + schema + "}}}}}", "/things", "", "application/json", `{"o":{"tag":[]}}`},
		{"parameters: [{name: o, in: query, content: {application/json: {schema: " + schema + "}}}]", `/things?o=%7B"tag":[]%7D`, "", "", ""},
		{"parameters: [{name: o, in: header, content: {application/json: {schema: " + schema + "}}}]", "/things", `{"tag":[]}`, "", ""},
		{"parameters: [{name: o, in: query, explode: false, schema: " + schema + "}]", "/things?o=tag,1", "", "", ""},
		{"parameters: [{name: o, in: query, style: deepObject, explode: true, schema: " + schema + "}]", "/things?o[tag]=1", "", "", ""},
		{"parameters: [{name: o, in: header, schema: " + schema + "}]", "/things", "tag,1", "", ""},
		{"parameters: [{name: o, in: header, explode: true, schema: " + schema + "}]", "/things", "tag=1", "", ""},
		{
			"requestBody: {content: {" + formType + ": {encoding: {o: {contentType: application/json}}, schema: {type: object, properties: {o: " + schema + "}}}}}",
			"/things", "", formType, `o={"tag":[]}`,
		},
		{"requestBody: {content: {" + formType + ": {schema: {type: object, properties: {o: " + schema + "}}}}}", "/things", "", formType, "o[tag]=1"},
		{
			"requestBody: {content: {" + multipartType + ": {schema: {type: object, properties: {o: " + schema + "}}}}}", "/things", "", multipartType + "; boundary=b",
			"--b\r\nContent-Disposition: form-data; name=o\r\n\r\n{\"tag\":[]}\r\n--b--\r\n",
		},
	} {
		r := httptest.NewRequest(http.MethodPost, c.target, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.mediaType)
		if c.header != "" {
			r.Header.Set("o", c.header)
		}
		got, refusal := pass(t, "post: {"+c.operation+",", r, contract.Options{})
		if refusal != nil && strings.Contains(refusal.Message, "in upper and lower case only") || refusal != nil && strings.Contains(refusal.Message, "named as in the document") {
			continue
		}
		if refusal != nil || c.mediaType != "application/json" {
			t.Errorf("%s: %s %s %s: %v, want a refusal for the name", c.operation, c.target, c.header, c.body, refusal)
			continue
		}
		text, err := io.ReadAll(got.Body)
		must.NoError(t, err)
		var bound struct {
			object
			O object `json:"o"`
		}
		must.NoError(t, json.Unmarshal(text, &bound))
		if bound.Tag != nil || bound.O.Tag != nil {
			t.Errorf("%s: encoding/json binds %s", c.body, text)
		}
	}
}
