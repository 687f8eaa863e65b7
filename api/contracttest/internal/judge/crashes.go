package judge

import (
	"mime"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Operations that fail with the same message most likely fail in the same line of code: "no such table: books". A message that
// any failure has says nothing.

// rootOfCrash is what a crash has in common with crashes of other operations, or nothing.
func rootOfCrash(x scenario.Interaction) scenario.Cause {
	message := messageOf(x)
	if message == "" {
		return scenario.Cause{}
	}
	return scenario.Cause{Kind: scenario.Crashes, Status: x.Status, Value: message}
}

// Words of a message, and what in it differs from request to request: ids and times have digits.
var (
	words      = regexp.MustCompile(`[\pL_]{3,}`)
	withDigits = regexp.MustCompile(`\S*\d\S*`)
)

// common are the words of messages that say only that the service has failed.
var common = []string{
	"internal", "server", "error", "errors", "unexpected", "unknown", "exception", "failure", "failed", "fail", "problem", "request", "response",
	"status", "message", "detail", "title", "code", "type", "about", "blank", "something", "went", "wrong", "has", "occurred", "please", "try", "again",
	"later", "the", "and", "was", "not", "your", "could", "processed", "processing", "while", "contact", "support", "administrator", "true", "false", "null",
}

// fewWords is how many words of its own a message has at least.
const fewWords = 2

// mostWords is how many words are compared, and shown.
const mostWords = 12

// messageOf returns the first words of the texts in a response, or nothing if too few of them say what has failed.
//
//	GET /pots/7   {"message": "Unknown DICOM tag", "code": 27, "uri": "/pots/7"}   Unknown DICOM tag
func messageOf(x scenario.Interaction) string {
	var said []string
	for _, text := range textsOf(x) {
		said = append(said, words.FindAllString(withoutRequest(text, x), -1)...)
	}
	own := slices.DeleteFunc(slices.Clone(said), func(word string) bool {
		return slices.Contains(common, strings.ToLower(word))
	})
	if len(own) < fewWords {
		return ""
	}
	return strings.Join(said[:min(len(said), mostWords)], " ")
}

// withoutRequest leaves out of a text what differs from request to request: the path and its segments, the method, and all that
// has digits.
func withoutRequest(text string, x scenario.Interaction) string {
	text = strings.NewReplacer(x.Path, " ", x.Method, " ").Replace(text)
	for _, segment := range strings.Split(x.Path, "/") {
		if len(segment) > 1 {
			text = strings.ReplaceAll(text, segment, " ")
		}
	}
	return withDigits.ReplaceAllString(text, " ")
}

// textsOf returns the texts in a response of JSON, or a response in plain text.
func textsOf(x scenario.Interaction) []string {
	value, err := x.Value()
	mediaType, _, _ := mime.ParseMediaType(x.Header.Get("Content-Type"))
	switch {
	case err == nil:
		return textsIn(value)
	case mediaType == "text/plain":
		return []string{string(x.Body)}
	}
	return nil
}

// textsIn returns the texts in a value, of members in the order of their names.
func textsIn(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, item := range value {
			texts = append(texts, textsIn(item)...)
		}
	case map[string]any:
		for _, name := range jsonvalue.Names(value) {
			texts = append(texts, textsIn(value[name])...)
		}
	}
	return texts
}
