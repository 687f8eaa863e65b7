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

// Words of a message. What differs from request to request, as ids and times, has digits.
var (
	words      = regexp.MustCompile(`[\pL_]{3,}`)
	withDigits = regexp.MustCompile(`\S*\d\S*`)
)

// common are words that a message has which says only that the service has failed.
var common = []string{
	"internal", "server", "error", "errors", "unexpected", "unknown", "exception", "failure", "failed", "fail", "problem", "request", "response",
	"status", "message", "detail", "title", "code", "type", "about", "blank", "something", "went", "wrong", "has", "occurred", "please", "try", "again",
	"later", "the", "and", "was", "not", "your", "could", "processed", "processing", "while", "contact", "support", "administrator", "true", "false", "null",
}

// fewWords is how many words of its own a message has at least.
const fewWords = 2

// mostWords is how many words are compared, and shown.
const mostWords = 12

// messageOf returns the words of the texts in a response of JSON, or of a response in plain text, without what differs from
// request to request; nothing if there are too few that say what has failed.
func messageOf(x scenario.Interaction) string {
	var texts []string
	if value, err := x.Value(); err == nil {
		texts = textsIn(value)
	} else if mediaType, _, _ := mime.ParseMediaType(x.Header.Get("Content-Type")); mediaType == "text/plain" {
		texts = []string{string(x.Body)}
	}
	var said []string
	for _, text := range texts {
		text = strings.NewReplacer(x.Path, " ", x.Method, " ").Replace(text)
		for _, segment := range strings.Split(x.Path, "/") {
			if len(segment) > 1 {
				text = strings.ReplaceAll(text, segment, " ")
			}
		}
		said = append(said, words.FindAllString(withDigits.ReplaceAllString(text, " "), -1)...)
	}
	own := slices.DeleteFunc(slices.Clone(said), func(word string) bool {
		return slices.Contains(common, strings.ToLower(word))
	})
	if len(own) < fewWords {
		return ""
	}
	return strings.Join(said[:min(len(said), mostWords)], " ")
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
