package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Script is a shell script with the requests of the test that was the first to find the cause, or nothing if it has sent only
// one. Of a long test it has the creates and the last requests. It needs curl and jq, and variables of the environment in place
// of what is secret. The identities and entity tags that the service chose are taken from the responses to the script. What the
// test has sent at the same time, the script sends one after the other.
func (c Cause) Script() string {
	if len(c.First.Steps) < 2 {
		return ""
	}
	s := &script{chosen: map[string]*variable{}, secrets: map[string]bool{}}
	for i, step := range c.First.Steps {
		s.add(i+1, step)
	}
	return fmt.Sprintf(scriptForm, strings.ReplaceAll(c.Cause, "\n", " "), s)
}

const scriptForm = `#!/bin/bash
# %s
set -eu
cd "$(mktemp -d)"
step() {
  printf '\n# %%s\n' "$1"
  shift
  curl -sS -D head -o body "$@" || true
  cat head body
}
%s`

// script is one that is being written.
type script struct {
	lines   []string
	chosen  map[string]*variable // by the text that the service has chosen
	used    int                  // of them
	secrets map[string]bool
}

// variable holds a text that the service has chosen: id_1=$(jq -r '.["id"]' body).
type variable struct {
	of   string // the member, or "etag" or "location"
	set  string // the command that takes the text from a response
	line int    // the index of the step with that response
	name string // empty: no later request has the text
}

// add adds a step.
func (s *script) add(number int, step scenario.Interaction) {
	line := strings.TrimPrefix(s.withVariables(step).Curl(), "curl -i ")
	line = marked.ReplaceAllString(line, `'"$$$1"'`) // of 'http://a/MARK' it makes 'http://a/'"$id_1"''
	for _, name := range secretVariables.FindAllStringSubmatch(line, -1) {
		s.secrets[name[1]] = true
	}
	s.lines = append(s.lines, fmt.Sprintf("step '%d. %s, was %d' %s", number, step.Method, step.Status, line))
	s.learn(step)
}

// String is the script.
func (s *script) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.secrets)) {
		fmt.Fprintf(&text, ": \"${%s:?is secret: set it}\"\n", name)
	}
	for i, line := range s.lines {
		fmt.Fprintln(&text, line)
		for _, chosen := range slices.SortedFunc(maps.Values(s.chosen), byName) {
			if chosen.name != "" && chosen.line == i {
				fmt.Fprintf(&text, "%s=$(%s)\n", chosen.name, chosen.set)
			}
		}
	}
	return text.String()
}

func byName(one, other *variable) int { return cmp.Compare(one.name, other.name) }

// learn notes what a service has chosen: what its response has and the request had not.
func (s *script) learn(step scenario.Interaction) {
	if tag := step.Header.Get("ETag"); tag != "" {
		s.note(step, tag, variable{of: "etag", set: `sed -n 's/^[Ee][Tt]ag: *//p' head | tr -d '\r'`})
	}
	if location := step.Header.Get("Location"); location != "" {
		s.note(step, path.Base(location), variable{of: "location", set: `sed -n 's/^[Ll]ocation:.*\///p' head | tr -d '\r'`})
	}
	value, _ := step.Value() // what is no JSON has no members
	s.learnFrom(step, "", ".", value)
}

// learnFrom notes the texts and numbers in a part of a response, with where jq finds them.
func (s *script) learnFrom(step scenario.Interaction, name, at string, part any) {
	switch part := part.(type) {
	case map[string]any:
		for _, inner := range jsonvalue.Names(part) {
			s.learnFrom(step, inner, fmt.Sprintf("%s[%s]", at, jsonvalue.Encode(inner)), part[inner])
		}
	case []any:
		for i, item := range part {
			s.learnFrom(step, name, fmt.Sprintf("%s[%d]", at, i), item)
		}
	case string, json.Number:
		s.note(step, fmt.Sprint(part), variable{of: name, set: "jq -r " + scenario.ShellQuote(at) + " body"})
	}
}

// isNameOfID reports whether a member is called id, bookId or book_id.
func isNameOfID(name string) bool { return strings.HasSuffix(strings.ToLower(name), "id") }

// note notes a text of a response, unless the request has it: then the service has not chosen it. Of several members with one text,
// the first one counts, or rather the first one called id, as long as no request has used the text.
func (s *script) note(step scenario.Interaction, text string, chosen variable) {
	sent := step.URL + string(step.RequestBody) + strings.Join(step.RequestHeader["If-Match"], "")
	if text == "" || strings.Contains(sent, text) {
		return
	}
	known := s.chosen[text]
	isBetter := known == nil || known.name == "" && isNameOfID(chosen.of) && !isNameOfID(known.of)
	if isBetter {
		chosen.line = len(s.lines) - 1
		s.chosen[text] = &chosen
	}
}

// A mark, as BEGINid_1END, stands for a variable until a request is quoted for the shell. Its letters are of a range for private
// use, so that no request has them.
const (
	markBegin  = "\ue000"
	markEnd    = "\ue001"
	markNumber = "\ue002" // beside the quotes of a number, which go
)

var (
	notInName       = regexp.MustCompile(`[^A-Za-z]`)
	marked          = regexp.MustCompile(markBegin + `(\w+)` + markEnd)
	secretVariables = regexp.MustCompile(` -H "[^ "]+: \$\{?([A-Z0-9_]+)`)
	withoutQuotes   = strings.NewReplacer(`"`+markNumber, "", markNumber+`"`, "")
)

// mark returns the mark of the variable with a text, which is used then, or the text itself.
func (s *script) mark(text string) string {
	chosen := s.chosen[text]
	if chosen == nil {
		return text
	}
	if chosen.name == "" {
		s.used++
		chosen.name = fmt.Sprint(notInName.ReplaceAllString(chosen.of, ""), "_", s.used)
	}
	return markBegin + chosen.name + markEnd
}

// withVariables returns a request with marks in place of what the service has chosen: in its path and query, in If-Match, and in
// members of its body that are called id.
func (s *script) withVariables(step scenario.Interaction) scenario.Interaction {
	step.URL = s.urlWithVariables(step)
	step.RequestHeader = step.RequestHeader.Clone()
	for i, tag := range step.RequestHeader["If-Match"] {
		step.RequestHeader["If-Match"][i] = s.mark(tag)
	}
	body, err := jsonvalue.Decode(step.RequestBody)
	if err != nil {
		return step
	}
	replaced := string(jsonvalue.Encode(s.bodyWithVariables("", body)))
	if strings.Contains(replaced, markBegin) { // otherwise the body stays as it was written
		step.RequestBody = []byte(withoutQuotes.Replace(replaced))
	}
	return step
}

// urlWithVariables returns the URL of a request with marks in place of what the service has chosen.
func (s *script) urlWithVariables(step scenario.Interaction) string {
	address, query, hasQuery := strings.Cut(strings.TrimPrefix(step.URL, step.ServiceURL()), "?")
	segments := strings.Split(address, "/")
	for i, segment := range segments {
		segments[i] = s.mark(segment)
	}
	withoutQuery := step.ServiceURL() + strings.Join(segments, "/")
	if !hasQuery {
		return withoutQuery
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		pairs[i] = name + "=" + s.mark(value)
	}
	return withoutQuery + "?" + strings.Join(pairs, "&")
}

// bodyWithVariables returns a part of a body with marks in place of what the service has chosen. name is that of the member.
func (s *script) bodyWithVariables(name string, part any) any {
	switch value := part.(type) {
	case map[string]any, []any:
		return jsonvalue.Map(value, s.bodyWithVariables)
	case string:
		if isNameOfID(name) {
			return s.mark(value)
		}
	case json.Number:
		if isNameOfID(name) && s.chosen[value.String()] != nil {
			return markNumber + s.mark(value.String()) + markNumber
		}
	}
	return part
}
