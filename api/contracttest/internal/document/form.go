package document

import (
	"bytes"
	"fmt"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Tests have bodies as JSON, whatever their media type is, because that is how their values are made and looked at. A
// body that is no JSON is written from that when it is sent.

const (
	formMedia      = "application/x-www-form-urlencoded"
	multipartMedia = "multipart/form-data"
	// boundary is between the parts of a body. No made-up text has it.
	boundary = "contracttest-6f1d0c"
)

// bodyOf returns the first media type of a body that can be written, and its schema: JSON, a form, or a text.
func bodyOf(content Content) (mediaType string, described *schema.Schema) {
	if mediaType, described = JSONOf(content); described != nil {
		return mediaType, described
	}
	for _, form := range []string{formMedia, multipartMedia} {
		if media := content[form]; media != nil && schema.IsObject(schema.Of(media.Schema)) {
			return form, schema.Of(media.Schema)
		}
	}
	for _, mediaType := range jsonvalue.Names(content) {
		described = schema.Of(content[mediaType].Schema)
		if isText(mediaType, schema.TypeOf(described)) && !strings.Contains(mediaType, "*") {
			return mediaType, described
		}
	}
	return "", nil
}

// isText reports whether a body of a media type can have a value of a type of JSON as its text. A number can be the text of
// text/plain, where it is written as in JSON.
func isText(mediaType, kind string) bool {
	isNumber := kind == "integer" || kind == "number"
	return kind == "string" || isNumber && mediaType == "text/plain"
}

// Encoded writes a body of JSON as its media type says, and returns the type with the parameters that a reader needs. What
// cannot be written is left as it is.
func (o *Operation) Encoded(contentType string, body []byte) (sentType string, sent []byte) {
	mediaType, described := o.Body()
	if contentType != mediaType || IsJSON(mediaType) {
		return contentType, body
	}
	value, _ := jsonvalue.Decode(body) // what is no JSON stays as it is
	switch value := value.(type) {
	case string:
		return contentType, []byte(value)
	case map[string]any:
		return encodedObject(mediaType, described, value, body)
	}
	return contentType, body
}

// encodedObject writes an object as a form: name=Ficus&size=2, or as parts. Of another media type it is left as it is.
func encodedObject(mediaType string, described *schema.Schema, object map[string]any, body []byte) (sentType string, sent []byte) {
	switch mediaType {
	case formMedia:
		return mediaType, urlEncoded(object)
	case multipartMedia:
		return mime.FormatMediaType(mediaType, map[string]string{"boundary": boundary}), parts(described, object)
	}
	return mediaType, body
}

// urlEncoded writes an object as a form.
func urlEncoded(object map[string]any) []byte {
	pairs := url.Values{}
	for name, member := range object {
		pairs[name] = texts(member)
	}
	return []byte(pairs.Encode())
}

// texts are the values of a field. An array has several, and null has none.
func texts(value any) (all []string) {
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		for _, item := range value {
			all = append(all, texts(item)...)
		}
		return all
	case map[string]any:
		return []string{string(jsonvalue.Encode(value))}
	}
	return []string{fmt.Sprint(value)}
}

// parts writes an object as parts of a body. A text of bytes is a file.
//
//	--contracttest-6f1d0c
//	Content-Disposition: form-data; name="size"
//
//	2
func parts(described *schema.Schema, object map[string]any) []byte {
	var text bytes.Buffer
	writer := multipart.NewWriter(&text)
	_ = writer.SetBoundary(boundary) // it is valid
	for _, name := range jsonvalue.Names(object) {
		for _, value := range texts(object[name]) {
			// Nothing fails in memory.
			if schema.FormatOf(schema.Of(described.Properties[name])) == "binary" {
				part, _ := writer.CreateFormFile(name, "file.txt")
				_, _ = part.Write([]byte(value))
			} else {
				_ = writer.WriteField(name, value)
			}
		}
	}
	_ = writer.Close()
	return text.Bytes()
}
