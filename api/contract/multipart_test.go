package contract_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/internal/testing/golden"
)

// formMember is a member of a multipart form, with a right and a wrong text for it.
type formMember struct {
	schema, right, wrong string
	isFile               bool
}

var formMembers = []formMember{
	{"{type: string, minLength: 2, maxLength: 4}", "abc", "a", false},
	{"{type: integer, maximum: 9}", "7", "70", false},
	{"{type: array, minItems: 1, maxItems: 2, items: {type: integer}}", "7", "x", false},
	{"{type: object, required: [a], properties: {a: {type: integer}}}", `{"a":1}`, `{"a":"x"}`, false},
	{"{allOf: [{type: string, enum: [red]}]}", "red", "blue", false},
	{"{type: string, format: binary, minLength: 2, maxLength: 4}", "\xff\xfe", "12345", true},
	{"{allOf: [{type: string, format: binary}], maxLength: 4}", "\xff\xfe", "12345", true},
	{"{type: array, maxItems: 2, items: {type: string, format: binary, minLength: 2}}", "\xff\xfe", "1", true},
	{"{}", "anything", "", false},
}

// partsOf are the ways to send a member.
func partsOf(member formMember) map[string][]filePart {
	one := func(text string) filePart {
		part := filePart{name: "m", text: text}
		if member.isFile {
			part.file = "f"
		}
		return part
	}
	other := one(member.right)
	other.file = map[bool]string{true: "", false: "f"}[member.isFile]
	typed, named := one(member.right), one(member.right)
	typed.mediaType = "image/png"
	named.name = "m[]"
	return map[string][]filePart{
		"1 right":                       {one(member.right)},
		"2 wrong":                       {one(member.wrong)},
		"3 empty":                       {one("")},
		"4 twice":                       {one(member.right), one(member.right)},
		"5 three times":                 {one(member.right), one(member.right), one(member.right)},
		"6 with or without a file name": {other},
		"7 with image/png":              {typed},
		"8 as m[]":                      {named},
	}
}

// Every kind of part of every kind of member, alone, before a file and after one: testdata/multipart.txt says what becomes of it. What
// is wrong before the first file is refused before the handler is called, but for what may still come.
func TestMultipartParts(t *testing.T) {
	var lines strings.Builder
	for _, member := range formMembers {
		for _, encoding := range []string{"", "encoding: {m: {contentType: 'image/*, text/csv'}}, "} {
			fmt.Fprintf(&lines, "%s%s\n", encoding, member.schema)
			checker := newChecker(t, []byte("openapi: 3.1.0\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things: {post: {operationId: add, requestBody: {content: {multipart/form-data: {"+
				encoding+"schema: {type: object, additionalProperties: false, properties: {m: "+member.schema+
				", photo: {type: string, format: binary}}}}}}, responses: {'200': {description: OK}}}}\n"), contract.Options{})
			ways := partsOf(member)
			for _, way := range slices.Sorted(maps.Keys(ways)) {
				photo := filePart{name: "photo", file: "p", text: strings.Repeat("p", 10_000)}
				alone := sendForm(t, checker, ways[way])
				before := sendForm(t, checker, append(append([]filePart{}, ways[way]...), photo))
				after := sendForm(t, checker, append([]filePart{photo}, ways[way]...))
				fmt.Fprintf(&lines, "  %s: %s\n", way[2:], alone)
				isOfText := strings.HasPrefix(alone, "refused: ")
				if isLate := strings.HasPrefix(after, late); before != alone || isOfText && !isLate || !isOfText && after != alone {
					t.Errorf("%s%s, %s: %s, before a file: %s, after a file: %s", encoding, member.schema, way, alone, before, after)
				}
			}
		}
	}
	golden.Compare(t, "testdata/multipart.txt", lines.String())
}

// late begins the verdict on a form of which the handler has got something.
const late = "refused while the handler reads: "

// sendForm sends a form. It returns what becomes of it.
func sendForm(t *testing.T, checker *contract.Checker, parts []filePart) (verdict string) {
	t.Helper()
	body, mediaType := multipartBody(t, parts...)
	r := httptest.NewRequest(http.MethodPost, "/things", bytes.NewReader(body))
	r.Header.Set("Content-Type", mediaType)
	w := httptest.NewRecorder()
	verdict = "accepted"
	checker.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if refusal, isRefusal := errors.AsType[*contract.Refusal](err); isRefusal {
			verdict = late + messageOf(refusal.Message)
			return
		}
		if !bytes.Equal(got, body) {
			t.Errorf("%q: the handler reads %q", body, got)
		}
	})).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return "refused: " + messageOf(w.Body.String())
	}
	return verdict
}

func messageOf(text string) string {
	return strings.TrimPrefix(strings.TrimSpace(text), "body does not match the schema: ")
}

// What is decided before the handler is called is all that can be decided.
func TestBeginningOfAForm(t *testing.T) {
	photo := filePart{name: "photo", file: "p", text: strings.Repeat("p", 10_000)}
	for _, c := range []struct {
		schema string
		parts  []filePart
		want   string
	}{
		{"additionalProperties: false, properties: {photo: {type: string, format: binary}}", []filePart{{name: "other", text: "1"}, photo}, "refused: /other is not known"},
		{"additionalProperties: false, properties: {photo: {type: string, format: binary}}", []filePart{{name: "other", file: "f", text: "1"}, photo}, "refused: /other is not known"},
		{"additionalProperties: {type: integer}, properties: {photo: {type: string, format: binary}}", []filePart{{name: "other", text: "x"}, photo}, "refused: /other must be an integer"},
		{"additionalProperties: {type: integer}, properties: {photo: {type: string, format: binary}}", []filePart{{name: "other", file: "f", text: "1"}, photo}, "refused: /other must not be a file"},
		{"allOf: [{additionalProperties: false, properties: {photo: {type: string, format: binary}}}]", []filePart{{name: "other", text: "1"}, photo}, "refused: /other is not known"},
		{"maxProperties: 2, properties: {photo: {type: string, format: binary}}", []filePart{{name: "a", text: "1"}, {name: "b", text: "1"}, photo}, "refused: it must have at most 2 members"},
		{"maxProperties: 2, properties: {photo: {type: string, format: binary}}", []filePart{{name: "a", text: "1"}, photo, {name: "b", text: "1"}}, "refused while the handler reads: it must have at most 2 members"},
		{"minProperties: 2, properties: {photo: {type: string, format: binary}}", []filePart{photo, {name: "b", text: "1"}}, "accepted"},
		{"minProperties: 2, properties: {photo: {type: string, format: binary}}", []filePart{photo}, "refused while the handler reads: it must have at least 2 members"},
		{
			"required: [a], properties: {photo: {type: string, format: binary}, a: {type: array, minItems: 2, items: {type: integer}}}",
			[]filePart{{name: "a", text: "1"}, photo, {name: "a", text: "2"}},
			"accepted",
		},
		{
			"required: [a], properties: {photo: {type: string, format: binary}, a: {type: array, maxItems: 1, items: {type: integer}}}",
			[]filePart{{name: "a", text: "1"}, {name: "a", text: "2"}, photo},
			"refused: /a must have at most 1 item",
		},
		{"properties: {photo: {type: string, format: binary, minLength: 20000}}", []filePart{photo}, "refused while the handler reads: /photo must have at least 20000 bytes"},
		{"properties: {photo: {type: string, format: binary, maxLength: 9999}}", []filePart{photo}, "refused while the handler reads: /photo must have at most 9999 bytes"},
		{
			"properties: {photos: {type: array, minItems: 2, items: {type: string, format: binary}}}",
			[]filePart{{name: "photos", file: "p", text: "1"}, {name: "photos", file: "p", text: "2"}},
			"accepted",
		},
		{
			"properties: {photos: {type: array, minItems: 2, items: {type: string, format: binary}}}",
			[]filePart{{name: "photos", file: "p", text: "1"}},
			"refused while the handler reads: /photos must have at least 2 items",
		},
	} {
		checker := newChecker(t, []byte("openapi: 3.1.0\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things: {post: {operationId: add, requestBody: {content: {multipart/form-data: {schema: {type: object, "+
			c.schema+"}}}}, responses: {'200': {description: OK}}}}\n"), contract.Options{})
		if got := sendForm(t, checker, c.parts); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s gets %.100q: %s, want %s", c.schema, c.parts, got, c.want)
		}
	}
}

// A text is checked as the handler reads it: decoded.
func TestEncodedPart(t *testing.T) {
	checker := newChecker(t, []byte("openapi: 3.1.0\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things: {post: {operationId: add, requestBody: {content: {multipart/form-data: {schema: {type: object, "+
		"properties: {m: {type: string, maxLength: 3}}}}}}, responses: {'200': {description: OK}}}}\n"), contract.Options{})
	for text, want := range map[string]int{"=41=42=43": http.StatusOK, "=41=42=43=44": http.StatusBadRequest} {
		body := "--b\r\nContent-Disposition: form-data; name=m\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n" + text + "\r\n--b--\r\n"
		r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader(body))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		w := httptest.NewRecorder()
		checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d %s, want %d", text, w.Code, w.Body, want)
		}
	}
}

// A form has as many parts as generated code reads.
func TestPartsOfAForm(t *testing.T) {
	checker := newChecker(t, []byte("openapi: 3.1.0\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things: {post: {operationId: add, requestBody: {content: {multipart/form-data: {schema: {type: object}}}}, "+
		"responses: {'200': {description: OK}}}}\n"), contract.Options{})
	for count, want := range map[int]string{1000: "accepted", 1001: "refused: body has more than 1000 parts"} {
		parts := make([]filePart, count)
		for i := range parts {
			parts[i].name = "n"
		}
		if got := sendForm(t, checker, parts); got != want {
			t.Errorf("%d parts: %s, want %s", count, got, want)
		}
	}
}

// Members of an object in parts of their own are those of a deep object, if the encoding says so.
func TestDeepObjectInParts(t *testing.T) {
	checker := newChecker(t, []byte("openapi: 3.1.0\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things: {post: {operationId: add, requestBody: {content: {multipart/form-data: {"+
		"encoding: {o: {style: deepObject, explode: true, contentType: text/plain}}, schema: {type: object, properties: {o: {type: object, properties: {x: {type: integer}}}}}}}}, "+
		"responses: {'200': {description: OK}}}}\n"), contract.Options{})
	for name, want := range map[string]string{"o[x]": "accepted", "o": "refused: /o must be written in the style deepObject, as o[a]=1", "o[x": "refused: /o must be written"} {
		if got := sendForm(t, checker, []filePart{{name: name, text: "1"}}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A form may be one of a range of media types.
func TestFormOfARange(t *testing.T) {
	for _, mediaType := range []string{"'*/*'", "'multipart/*'", "multipart/form-data"} {
		checker := newChecker(t, []byte("openapi: 3.1.0\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things: {post: {operationId: add, requestBody: {content: {"+mediaType+
			": {schema: {type: object, additionalProperties: false, properties: {m: {type: string}, f: {type: string, format: binary}}}}}}, responses: {'200': {description: OK}}}}\n"), contract.Options{})
		for name, want := range map[string]string{"m": "accepted", "n": "refused: /n is not known: remove it"} {
			parts := []filePart{{name: name, text: "1"}, {name: "f", file: "f", text: strings.Repeat("p", 10_000)}}
			if got := sendForm(t, checker, parts); got != want {
				t.Errorf("%s of %s: %s, want %s", name, mediaType, got, want)
			}
		}
	}
}

// What is not checked of a part is noted.
func TestNotesOfParts(t *testing.T) {
	for form, want := range map[string]int{
		"schema: {type: object, properties: {f: {type: string, format: binary, maxLength: 5}}}":                                                   0,
		"schema: {type: object, properties: {f: {type: string, format: binary, pattern: ^a}}}":                                                    1,
		"schema: {type: object, properties: {f: {type: array, uniqueItems: true, items: {type: string, format: binary}}}}":                        1,
		"encoding: {f: {headers: {X-Width: {schema: {type: integer}}}}}, schema: {type: object, properties: {f: {type: string, format: binary}}}": 1,
	} {
		checker := newChecker(t, []byte("openapi: 3.0.3\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things: {post: {operationId: add, requestBody: {content: {multipart/form-data: {"+
			form+"}}}, responses: {'200': {description: OK}}}}\n"), contract.Options{})
		if notes := checker.Notes(); len(notes) != want {
			t.Errorf("%s has the notes %q, want %d", form, notes, want)
		}
	}
}

// A file that is too large is refused where it becomes so, not at its end.
func TestTooLargeFile(t *testing.T) {
	checker := newChecker(t, []byte("openapi: 3.1.0\ninfo: {title: Forms, version: 1.0.0}\npaths:\n  /things: {post: {operationId: add, requestBody: {content: {multipart/form-data: {schema: {type: object, "+
		"properties: {f: {type: string, format: binary, maxLength: 9999}}}}}}, responses: {'200': {description: OK}}}}\n"), contract.Options{})
	body, mediaType := multipartBody(t, filePart{name: "f", file: "f", text: strings.Repeat("p", 500_000)})
	r := httptest.NewRequest(http.MethodPost, "/things", bytes.NewReader(body))
	r.Header.Set("Content-Type", mediaType)
	checker.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if refusal, isRefusal := errors.AsType[*contract.Refusal](err); !isRefusal || len(got) > 20_000 {
			t.Errorf("the handler gets %d bytes, and %v, %v", len(got), err, refusal)
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
}

// The length of bytes is their number, also if they are text.
func TestLengthOfBytes(t *testing.T) {
	checker := newChecker(t, []byte("openapi: 3.1.0\ninfo: {title: Bytes, version: 1.0.0}\npaths:\n  /things: {post: {operationId: add, requestBody: {content: {application/octet-stream: {schema: "+
		"{type: string, format: binary, maxLength: 4}}}}, responses: {'200': {description: OK}}}}\n"), contract.Options{})
	for text, want := range map[string]int{"éé": http.StatusOK, "ééé": http.StatusBadRequest} {
		r := httptest.NewRequest(http.MethodPost, "/things", strings.NewReader(text))
		r.Header.Set("Content-Type", "application/octet-stream")
		w := httptest.NewRecorder()
		checker.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d %s, want %d", text, w.Code, w.Body, want)
		}
	}
}
