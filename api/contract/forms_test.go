package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"runtime"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// A form has the members of its schema, as parameters of a query have them.
func TestForms(t *testing.T) {
	const operation = `post: {requestBody: {required: true, content: {application/x-www-form-urlencoded: {
		encoding: {tags: {style: pipeDelimited, explode: false}, meta: {contentType: application/json}},
		schema: {type: object, required: [name], additionalProperties: false, properties: {
			name: {type: string, minLength: 2}, age: {type: integer, maximum: 99}, ids: {type: array, items: {type: integer}},
			tags: {type: array, items: {type: string}}, meta: {type: object, required: [a], properties: {a: {type: integer}}},
			point: {type: object, properties: {x: {type: integer}}}}}}}},`
	for body, want := range map[string]string{
		"name=Ficus":                        `{"name":"Ficus"}`,
		"name=Fi+cus&age=7&ids=1&ids=2":     `{"age":7,"ids":[1,2],"name":"Fi cus"}`,
		"name=Ficus&tags=a|b%7Cc":           `{"name":"Ficus","tags":["a","b","c"]}`,
		"name=Ficus&meta=%7B%22a%22%3A1%7D": `{"meta":{"a":1},"name":"Ficus"}`,
		"name=Ficus&point[x]=3":             `{"name":"Ficus","point":{"x":3}}`,
		"name=Ficus&meta=%7B%7D":            "body does not match the schema: /meta/a is required",
		"name=F":                            "/name must have at least 2 characters",
		"age=7":                             "/name is required",
		"name=Ficus&age=x":                  "/age must be an integer",
		"name=Ficus&age=100":                "/age must be at most 99",
		"name=Ficus&name=Other":             "/name is given more than once",
		"name=Ficus&other=1":                "/other is not known",
		"name=Ficus&point=junk":             "/point must be written in the style deepObject, as point[a]=1",
		"name=Ficus&point[x=3":              "/point must be written in the style deepObject",
		"name=Ficus&ids[]=3":                "/ids[] is not known: write ids",
		"name=Ficus&ids=1&ids=y":            "/ids/1 must be an integer",
		"name=%zz":                          "body is not a well-formed form",
		"":                                  "a request body is required",
	} {
		r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		got, refusal := pass(t, operation, r, contract.Options{})
		if refusal != nil {
			if !strings.Contains(refusal.Message, want) {
				t.Errorf("%s: %v, want %s", body, refusal, want)
			}
			continue
		}
		value, err := json.Marshal(contract.Body(got.Context()))
		must.NoError(t, err)
		again, err := io.ReadAll(got.Body)
		must.NoError(t, err)
		if string(value) != want || string(again) != body {
			t.Errorf("%s: %s, and the handler reads %s, want %s", body, value, again, want)
		}
	}
}

// filePart is a part of a multipart form. It is a file if it has a file name.
type filePart struct{ name, file, mediaType, text string }

// multipartBody returns a form, and its media type.
func multipartBody(t *testing.T, parts ...filePart) (body []byte, mediaType string) {
	t.Helper()
	var text bytes.Buffer
	writer := multipart.NewWriter(&text)
	for _, part := range parts {
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", fmt.Sprintf("form-data; name=%q", part.name))
		if part.file != "" {
			header.Set("Content-Disposition", fmt.Sprintf("form-data; name=%q; filename=%q", part.name, part.file))
		}
		if part.mediaType != "" {
			header.Set("Content-Type", part.mediaType)
		}
		to, err := writer.CreatePart(header)
		must.NoError(t, err)
		_, err = io.WriteString(to, part.text)
		must.NoError(t, err)
	}
	must.NoError(t, writer.Close())
	return text.Bytes(), writer.FormDataContentType()
}

const multipartOperation = `post: {requestBody: {required: true, content: {multipart/form-data: {
	encoding: {photo: {contentType: 'image/png, image/jpeg'}},
	schema: {type: object, required: [name, photo], additionalProperties: false, properties: {
		name: {type: string, minLength: 2}, ids: {type: array, items: {type: integer}}, note: {type: string, maxLength: 5},
		meta: {type: object, required: [a], properties: {a: {type: integer}}}, photo: {type: string, format: binary}}}}}},`

// Fields before the first file are checked before the handler, the rest while it reads. Files pass through.
func TestMultipart(t *testing.T) {
	name, large := filePart{name: "name", text: "Ficus"}, strings.Repeat("p", 100_000)
	photo := filePart{name: "photo", file: "p.png", mediaType: "image/png", text: large}
	for _, c := range []struct {
		title      string
		parts      []filePart
		before     string // a refusal before the handler
		afterwards string // a refusal while it reads
	}{
		{"valid", []filePart{name, photo}, "", ""},
		{"file first", []filePart{photo, name}, "", ""},
		{"all fields", []filePart{name, {name: "ids", text: "1"}, {name: "ids", text: "2"}, {name: "meta", text: `{"a":1}`}, photo}, "", ""},
		{"no file", []filePart{name}, "/photo is required", ""},
		{"field not valid", []filePart{{name: "name", text: "F"}, photo}, "/name must have at least 2 characters", ""},
		{"JSON not valid", []filePart{name, {name: "meta", text: `{}`}, photo}, "/meta/a is required", ""},
		{"item not valid", []filePart{name, {name: "ids", text: "x"}, photo}, "/ids/0 must be an integer", ""},
		{"media type", []filePart{name, {name: "photo", file: "p.gif", mediaType: "image/gif", text: "g"}}, "/photo must have the Content-Type image/png, image/jpeg", ""},
		{"field after the file", []filePart{name, photo, {name: "note", text: "too long"}}, "", "/note must have at most 5 characters"},
		{"missing after the file", []filePart{photo}, "", "/name is required"},
		{"unknown after the file", []filePart{name, photo, {name: "other", text: "x"}}, "", "/other is not known"},
		{"too large a field", []filePart{{name: "name", text: strings.Repeat("n", 2<<20)}}, "larger than the limit of 1048576 bytes", ""},
		{"too large", []filePart{name, {name: "photo", file: "p.png", mediaType: "image/png", text: strings.Repeat("p", 4<<20)}}, "", "larger than the limit of 3145728 bytes"},
	} {
		body, mediaType := multipartBody(t, c.parts...)
		r := httptest.NewRequest(http.MethodPost, "/things", bytes.NewReader(body))
		r.ContentLength = -1
		r.Header.Set("Content-Type", mediaType)
		r.Pattern = "/things"
		var read []byte
		var refusal, late *contract.Refusal
		options := contract.Options{
			MaxBodies: map[string]int64{"multipart/form-data": 3 << 20},
			Refuse:    func(_ http.ResponseWriter, _ *http.Request, why *contract.Refusal) { refusal = why },
		}
		checker := newChecker(t, []byte("openapi: 3.0.3\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things:\n    "+multipartOperation+
			" operationId: add, responses: {'200': {description: OK}}}\n"), options)
		checker.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if c.before == "" && c.afterwards == "" {
				form, err := r.MultipartReader() // as generated code does
				must.NoError(t, err)
				for part, err := form.NextPart(); err == nil; part, err = form.NextPart() {
					text, err := io.ReadAll(part)
					must.NoError(t, err)
					read = append(read, text...)
				}
				return
			}
			_, err := io.ReadAll(r.Body)
			late, _ = errors.AsType[*contract.Refusal](err)
		})).ServeHTTP(httptest.NewRecorder(), r)
		if (refusal == nil) != (c.before == "") || refusal != nil && !strings.Contains(refusal.Message, c.before) {
			t.Errorf("%s: refused before the handler: %v, want %q", c.title, refusal, c.before)
		}
		if (late == nil) != (c.afterwards == "") || late != nil && !strings.Contains(late.Message, c.afterwards) {
			t.Errorf("%s: refused while the handler reads: %v, want %q", c.title, late, c.afterwards)
		}
		if isAccepted := c.before == "" && c.afterwards == ""; isAccepted && !bytes.Contains(read, []byte(large)) {
			t.Errorf("%s: the handler has read %d bytes", c.title, len(read))
		}
	}
}

// endless returns bytes up to a length.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	count := min(len(p), e.left)
	clear(p[:count])
	e.left -= count
	return count, nil
}

// A file of 100 MiB takes little memory.
func TestLargeFile(t *testing.T) {
	const head = "--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nFicus\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"p\"\r\nContent-Type: image/png\r\n\r\n"
	body := io.MultiReader(strings.NewReader(head), &endless{100 << 20}, strings.NewReader("\r\n--b--\r\n"))
	r := httptest.NewRequest(http.MethodPost, "/things", body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	got := int64(0)
	checker := newChecker(t, []byte("openapi: 3.0.3\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things:\n    "+multipartOperation+
		" operationId: add, responses: {'200': {description: OK}}}\n"),
		contract.Options{MaxBodies: map[string]int64{"multipart/form-data": 200 << 20}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	checker.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, _ = io.Copy(io.Discard, r.Body)
	})).ServeHTTP(httptest.NewRecorder(), r)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	t.Logf("figures: a form with a file of 100 MiB allocates %d KiB", allocated>>10)
	if got < 100<<20 || allocated > 2<<20 {
		t.Errorf("%d bytes were read, with %d bytes of memory", got, allocated)
	}
}

// What cannot be checked is refused beside what can, and alone only if no option names it.
func TestUncheckedMediaTypes(t *testing.T) {
	const xml = "application/xml: {schema: {type: object}}"
	post := func(contents string, options contract.Options) (*contract.Checker, error) {
		return contract.New([]byte("openapi: 3.0.3\ninfo: {title: XML, version: 1.0.0}\npaths:\n  /things:\n    "+
			"post: {requestBody: {content: {"+contents+"}}, operationId: add, responses: {'200': {description: OK}}}\n"), options)
	}
	named := contract.Options{Unchecked: []string{"application/xml"}}
	if _, err := post(xml, contract.Options{}); err == nil || !strings.Contains(err.Error(), "name it in Options.Unchecked") {
		t.Errorf("XML alone: %v", err)
	}
	for _, c := range []struct {
		contents string
		options  contract.Options
		want     int
		notes    int
	}{
		{"application/json: {}, " + xml, contract.Options{}, http.StatusUnsupportedMediaType, 1},
		{"application/json: {}, " + xml, named, http.StatusOK, 0},
		{xml, named, http.StatusOK, 0},
	} {
		checker, err := post(c.contents, c.options)
		must.NoError(t, err)
		r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader("<a/>"))
		r.Header.Set("Content-Type", "application/xml")
		w := httptest.NewRecorder()
		checker.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if text, _ := io.ReadAll(r.Body); string(text) != "<a/>" {
				t.Errorf("the handler reads %s", text)
			}
		})).ServeHTTP(w, r)
		if w.Code != c.want || len(checker.Notes()) != c.notes {
			t.Errorf("%s: %d %s, with the notes %q, want %d", c.contents, w.Code, w.Body, checker.Notes(), c.want)
		}
	}
}
