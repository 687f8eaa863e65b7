package document

import (
	"fmt"
	"strings"
	"testing"
)

// A body is written as its media type says, from JSON.
func TestEncoded(t *testing.T) {
	t.Parallel()
	const text = `
openapi: 3.0.3
info: {title: Bodies, version: "1"}
paths: {/a: {post: {requestBody: {content: {"MEDIA": {schema: SCHEMA}}}, responses: {"200": {description: OK.}}}}}
`
	const object = "{type: object, properties: {file: {type: string, format: binary}}}"
	const part = "--contracttest-6f1d0c\r\nContent-Disposition: form-data; name="
	for _, c := range []struct{ media, schema, sentAs, body, want string }{
		{"application/json", object, "application/json", `{"a":1}`, `application/json {"a":1}`},
		{"application/json", "{type: string}", "application/json", `"a"`, `application/json "a"`},
		{"text/plain", "{type: string}", "text/plain", `"a"`, "text/plain a"},
		{"text/plain", "{type: string}", "text/plain", `7`, "text/plain 7"},
		{"text/plain", "{type: string}", "text/html", `"a"`, `text/html "a"`},
		{"image/*", "{type: string}", "image/*", `"a"`, `image/* "a"`},
		{formMedia, object, formMedia, `{"b":"x y","a":1}`, formMedia + " a=1&b=x+y"},
		{formMedia, object, formMedia, `{"a":[1,[2],null],"b":null,"c":{"d":1},"e":true}`, formMedia + " a=1&a=2&c=%7B%22d%22%3A1%7D&e=true"},
		{formMedia, object, formMedia, `[1]`, formMedia + " [1]"},
		{formMedia, object, formMedia, `{"a":`, formMedia + ` {"a":`},
		{formMedia, object, "text/plain", `{"a":1}`, `text/plain {"a":1}`},
		{multipartMedia, object, multipartMedia, `{"b":[1,2],"a":"x"}`, multipartMedia + "; boundary=contracttest-6f1d0c " +
			part + "\"a\"\r\n\r\nx\r\n" + part + "\"b\"\r\n\r\n1\r\n" + part + "\"b\"\r\n\r\n2\r\n--contracttest-6f1d0c--\r\n"},
		{multipartMedia, object, multipartMedia, `{"file":"x"}`, multipartMedia + "; boundary=contracttest-6f1d0c " +
			part + "\"file\"; filename=\"file.txt\"\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n--contracttest-6f1d0c--\r\n"},
	} {
		d, err := Parse([]byte(strings.NewReplacer("MEDIA", c.media, "SCHEMA", c.schema).Replace(text)))
		if err != nil {
			t.Fatal(err)
		}
		sentType, sent := d.Operations[0].Encoded(c.sentAs, []byte(c.body))
		if got := fmt.Sprintf("%s %s", sentType, sent); got != c.want {
			t.Errorf("%s as %s is %q, want %q", c.body, c.sentAs, got, c.want)
		}
	}
}

// A text and a number can be written as text/plain. What cannot be written is no body.
func TestTextBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ media, described, want string }{
		{"text/plain", "string", "text/plain"},
		{"text/plain", "integer", "text/plain"},
		{"text/plain", "number", "text/plain"},
		{"text/plain", "array", ""},
		{"text/csv", "string", "text/csv"},
		{"text/csv", "integer", ""},
	} {
		d, err := Parse([]byte(`
openapi: 3.0.3
info: {title: Texts, version: "1"}
paths: {/a: {put: {requestBody: {content: {` + c.media + `: {schema: {type: ` + c.described + `, items: {}}}}}, responses: {"200": {description: OK.}}}}}
`))
		if err != nil {
			t.Fatal(err)
		}
		if mediaType, _ := d.Operations[0].Body(); mediaType != c.want {
			t.Errorf("the body of type %s as %s is %q, want %q", c.described, c.media, mediaType, c.want)
		}
	}
}
