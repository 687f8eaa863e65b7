package scenario

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// MostRead is how many bytes of a response are read. A longer one is not judged, because values of JSON take
// many times as much memory.
const MostRead = 32 << 20

// Interaction is a request and its response, both complete.
type Interaction struct {
	Method        string
	URL           string // as sent, with the path as it was escaped
	Path          string // the escaped path alone
	RequestHeader http.Header
	RequestBody   []byte
	User          User // who has sent it

	Status int
	Header http.Header
	Body   []byte

	decode func() (any, error) // decodes Body once
}

// Receive adds a response. What it has as JSON is decoded once, though many look at it.
func (x *Interaction) Receive(status int, header http.Header, body []byte) {
	x.Status = status
	x.Header = header
	x.Body = body
	x.decode = sync.OnceValues(func() (any, error) { return jsonvalue.Decode(body) })
}

// Value is the one value of JSON in the response, or an error. It may not be changed. Numbers are of type
// [json.Number].
func (x Interaction) Value() (any, error) {
	if x.decode == nil {
		return jsonvalue.Decode(x.Body)
	}
	return x.decode()
}

// ParsedURL is the address of the request.
func (x Interaction) ParsedURL() (*url.URL, error) { return url.Parse(x.URL) }

// Object is the object in the response, or nil. Numbers are of type [json.Number].
func (x Interaction) Object() map[string]any {
	value, _ := x.Value() // what is no JSON is no object
	return jsonvalue.Object(value)
}

// Member returns a member of the object in a response, or nil. A number is the text with which it is
// written.
func (x Interaction) Member(name string) any {
	value := x.Object()[name]
	if number, isNumber := value.(json.Number); isNumber {
		return number.String()
	}
	return value
}

// HasRequestHeader reports whether the request had one of some headers, in their canonical form.
func (x Interaction) HasRequestHeader(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return len(x.RequestHeader[name]) > 0
	})
}

// WrongCredential is what no service accepts.
const WrongCredential = "not-a-credential"

// shortestWrong is how long a wrong credential is at least.
const shortestWrong = 3

// WrongOf is a wrong credential that is as long as a secret, also in both parts of a name and a password: "ann:secret" makes
// "not:not-a-". A secret of less than three letters makes WrongCredential.
func WrongOf(secret string) string {
	name, password, hasName := strings.Cut(secret, ":")
	switch {
	case hasName:
		return WrongOf(name) + ":" + WrongOf(password)
	case len(secret) < shortestWrong:
		return WrongCredential
	}
	return strings.Repeat(WrongCredential, len(secret)/len(WrongCredential)+1)[:len(secret)]
}

// Hidden returns the interaction without the values of some headers of the request, which may be secret.
// A value that is nothing but a wrong credential stays: it shows why the service should have refused the request.
func (x Interaction) Hidden(secret http.Header) Interaction {
	x.RequestHeader = x.RequestHeader.Clone()
	for name := range secret {
		sent := strings.Join(x.RequestHeader[name], "; ")
		isWhollyWrong := isWrong(sent) && !shares(sent, secret.Values(name))
		if sent != "" && !isWhollyWrong {
			x.RequestHeader[name] = []string{hidden(x.variable(name), sent, secret.Get(name))}
		}
	}
	return x
}

// hidden is what a command shows in place of a secret header, so that the shell sends what a test has sent. Of "Bearer abc":
//
//	Bearer      Bearer              the scheme alone is no secret
//	Bearer ab   ${AUTHORIZATION%?}  the last letter was left out
//	Bearer abc  $AUTHORIZATION      so is anything else
func hidden(variable, sent, secret string) string {
	scheme, _, hasScheme := strings.Cut(secret, " ")
	switch {
	case hasScheme && sent == scheme:
		return scheme
	case len(sent) == len(secret)-1 && strings.HasPrefix(secret, sent):
		return "${" + variable + "%?}"
	}
	return "$" + variable
}

// isWrong reports whether a part of a header is a wrong credential: of "Bearer not-a", of "session=not-a; user=1", or of
// the name and the password that Basic has in base64.
func isWrong(value string) bool {
	_, basic, _ := strings.Cut(value, " ")
	decoded, _ := base64.StdEncoding.DecodeString(basic) // nothing, if it is not Basic
	parts := strings.FieldsFunc(value+" "+string(decoded), func(r rune) bool { return strings.ContainsRune(" ;=:", r) })
	return slices.ContainsFunc(parts, func(part string) bool { return part == WrongOf(part) })
}

// shares reports whether one of the cookies of a header is also in a secret one. Any other header has one part.
func shares(value string, secret []string) bool {
	return slices.ContainsFunc(strings.Split(value, "; "), func(part string) bool {
		return strings.Contains(strings.Join(secret, "; "), part)
	})
}

// variable is the one of the shell that a failure shows in place of the value of a header.
func (x Interaction) variable(header string) string {
	name := strings.TrimPrefix(string(x.User)+"_"+header, "_")
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}
