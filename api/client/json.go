package client

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// separators replaces two escapes that encoding/json always writes. It passes
// over \\, because the text after that is no escape.
var separators = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029")

// encode writes the body of a request, unless there was an error making it. Unlike
// [json.Marshal] it escapes only what JSON requires. More would make some bodies
// several times as long, and so larger than the service allows.
func encode(body any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if bytes.Contains(text, []byte(`\u202`)) {
		text = []byte(separators.Replace(string(text)))
	}
	return text, nil
}

// decodePlants decodes a page of plants as the service writes it: without spaces,
// and with no other members. For any other text ok is false, and encoding/json
// decides. An export needs half the CPU of one with encoding/json alone.
func decodePlants(text []byte) (plants plantapi.StoredPlants, ok bool) {
	s := scanner{rest: bytes.TrimSuffix(text, []byte("\n")), bad: !utf8.Valid(text)}
	plants = make(plantapi.StoredPlants, 0, len(text)/128) // most have more bytes than that
	member := func() {
		name, _ := s.quoted()
		s.want(':')
		if !scanMember(&s, string(name[1:len(name)-1]), &plants[len(plants)-1]) {
			s.bad = true
		}
	}
	s.list('[', ']', func() {
		plants = append(plants, plantapi.StoredPlant{})
		s.list('{', '}', member)
	})
	return plants, !s.bad && len(s.rest) == 0
}

// scanner reads JSON from the beginning of rest. After bad it reads nonsense.
type scanner struct {
	rest []byte
	bad  bool
}

// list reads a list with commas, and calls item at each item.
func (s *scanner) list(begin, end byte, item func()) {
	s.want(begin)
	if s.skip(end) {
		return
	}
	for !s.bad {
		if item(); !s.skip(',') {
			s.want(end)
			return
		}
	}
}

func (s *scanner) want(c byte) {
	if !s.skip(c) {
		s.bad = true
	}
}

func (s *scanner) skip(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// quoted reads a string with its quotes, and reports whether it has escapes.
func (s *scanner) quoted() (text []byte, escaped bool) {
	for i := 1; i < len(s.rest) && s.rest[0] == '"' && s.rest[i] >= ' '; i++ {
		switch s.rest[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			text, s.rest = s.rest[:i+1], s.rest[i+1:]
			return text, escaped
		}
	}
	s.bad = true
	return []byte(`""`), false
}

func (s *scanner) string() string {
	quoted, escaped := s.quoted()
	if !escaped {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	s.bad = s.bad || json.Unmarshal(quoted, &text) != nil
	return text
}

func (s *scanner) time() (t time.Time) {
	quoted, _ := s.quoted()
	s.bad = s.bad || t.UnmarshalText(quoted[1:len(quoted)-1]) != nil
	return t
}

func (s *scanner) integer() int64 {
	digits := s.rest[:len(s.rest)-len(bytes.TrimLeft(s.rest, "-0123456789"))]
	n, err := strconv.ParseInt(string(digits), 10, 64)
	first := bytes.TrimPrefix(digits, []byte("-"))
	s.bad = s.bad || err != nil || len(first) > 1 && first[0] == '0'
	s.rest = s.rest[len(digits):]
	return n
}
