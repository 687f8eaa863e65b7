package main

import (
	"io"
	"log"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// condition is what If-Match and If-None-Match say about a page.
type condition int

const (
	met condition = iota
	unchanged
	failed
)

// conditionOf evaluates the conditions of a request in the order of RFC 9110, 13.2.2. The ETag is empty where
// there is no page.
func (w *wiki) conditionOf(r *http.Request, etag string) condition {
	isStaleAllowed := r.Method == http.MethodPut && w.has("stale-put") || r.Method == http.MethodDelete && w.has("stale-delete")
	ifMatch := r.Header.Values("If-Match")
	if len(ifMatch) > 0 && !isStaleAllowed && !matches(ifMatch, etag) {
		return failed
	}
	ifNoneMatch := r.Header.Values("If-None-Match")
	if len(ifNoneMatch) == 0 {
		return met
	}
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	if isRead && w.has("one-etag-only") {
		ifNoneMatch = strings.SplitN(ifNoneMatch[0], ",", 2)[:1]
	}
	// If-None-Match compares weakly: W/ does not matter, and no page has such an ETag.
	isMatch := matches([]string{strings.ReplaceAll(strings.Join(ifNoneMatch, ","), `W/"`, `"`)}, etag)
	switch {
	case isRead && w.has("never-304"):
		return met
	case isRead && (isMatch || w.has("any-304")):
		return unchanged
	case isMatch && !w.has("star-replaces"):
		return failed
	}
	return met
}

// matches tells whether a list of ETags has the one of the page. No ETag of this service has a comma.
func matches(lists []string, etag string) bool {
	if etag == "" {
		return false
	}
	joined := strings.Join(lists, ",")
	for one := range strings.SplitSeq(joined, ",") {
		if strings.TrimSpace(one) == etag {
			return true
		}
	}
	return strings.TrimSpace(joined) == "*"
}

const maxBody = 64 << 10

// readPage reads the body of a request; its text says what is wrong with that.
func readPage(r *http.Request) (_ page, status int, problem string) {
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, hasCharset := parameters["charset"]
	isUTF8 := !hasCharset || strings.EqualFold(charset, "utf-8")
	if err != nil || mediaType != "application/json" || !isUTF8 || r.Header.Get("Content-Encoding") != "" {
		return page{}, http.StatusUnsupportedMediaType, "the body must be application/json"
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return page{}, http.StatusBadRequest, "the body cannot be read"
	case len(body) > maxBody:
		return page{}, http.StatusRequestEntityTooLarge, "the body is too large"
	}
	var given struct {
		Title *string        `json:"title"`
		Text  jsontext.Value `json:"text"` // null differs from a text that is absent
		Tags  jsontext.Value `json:"tags"`
	}
	// It refuses names that an object has twice, and names in another case, as encoding/json does not.
	if json.Unmarshal(body, &given, json.RejectUnknownMembers(true)) != nil || given.Title == nil {
		return page{}, http.StatusBadRequest, "the body must be an object with a title, and text and tags if any"
	}
	read := page{Title: *given.Title, Tags: []string{}}
	if !isText(read.Title, 1, 80) {
		return page{}, http.StatusBadRequest, "title must have 1 to 80 characters"
	}
	if given.Text != nil && (given.Text.Kind() != '"' || json.Unmarshal(given.Text, &read.Text) != nil || !isText(read.Text, 0, 1000)) {
		return page{}, http.StatusBadRequest, "text must have at most 1000 characters"
	}
	if given.Tags != nil && (given.Tags.Kind() != '[' || json.Unmarshal(given.Tags, &read.Tags) != nil || !areTags(read.Tags)) {
		return page{}, http.StatusBadRequest, "tags must be at most five different ones, of small letters"
	}
	return read, 0, ""
}

func isText(text string, shortest, longest int) bool {
	length := utf8.RuneCountInString(text)
	return shortest <= length && length <= longest
}

func areTags(tags []string) bool {
	for i, tag := range tags {
		if !validTag.MatchString(tag) || slices.Contains(tags[:i], tag) {
			return false
		}
	}
	return len(tags) <= 5
}

func writeProblem(out http.ResponseWriter, status int, text string) {
	write(out, status, map[string]string{"error": text})
}

func write(out http.ResponseWriter, status int, body any) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	if err := json.MarshalWrite(out, body, json.FormatNilSliceAsNull(true)); err != nil {
		log.Print(err)
	}
}
