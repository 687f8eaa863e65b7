package judge

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What is looked at depends on how much the document has described, and on the options: by default a response
// may have more than the document names, because OpenAPI lets it, and clients ignore it.

// transportHeaders are headers that HTTP needs, so no document names them.
var transportHeaders = []string{"Connection", "Content-Length", "Content-Type", "Date", "Keep-Alive", "Trailer", "Transfer-Encoding"}

// The keywords of faults of what the document does not list.
const (
	unnamedHeader  = "headers"
	unlistedStatus = "responses"
)

// response checks a response against what the document says for its status. A default beside listed successes is for failures
// only, so it does not describe another success.
func (j *Judge) response(operation *document.Operation, x scenario.Interaction) []scenario.Fault {
	described := operation.Response(x.Status)
	isOfFailures := x.Status/100 == 2 && !operation.Succeeds(x.Status)
	if described == nil || isOfFailures {
		return one("status", unlistedStatus, fmt.Sprintf("the document does not list %d for %s", x.Status, operation.ID))
	}
	return slices.Concat(
		j.headers(described.Headers, x.Header),
		j.unnamedHeaders(described.Headers, x.Header),
		j.challenge(x),
		j.content(described.Content, x),
	)
}

// content checks the body of a response, or that it has none. Where the document has no content, any body is right, unless
// the options say otherwise.
func (j *Judge) content(described document.Content, x scenario.Interaction) []scenario.Fault {
	isUnnamed := len(described) == 0
	switch {
	case x.Method == http.MethodHead:
		return empty("HEAD", x)
	case hasNoBody(x.Status), isUnnamed && j.exact():
		return empty("content", x)
	case isUnnamed:
		return nil
	}
	return j.body(described, x)
}

// hasNoBody reports whether HTTP forbids a body with a status (RFC 9110, section 6.4.1).
func hasNoBody(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified
}

// empty checks that a response has no body.
func empty(keyword string, x scenario.Interaction) []scenario.Fault {
	return require(len(x.Body) == 0, "body", keyword, "must be empty")
}

// headers checks the headers of a response against their schemas. Names of headers are the same in any case
// (RFC 9110, section 5.1).
func (j *Judge) headers(described map[string]*document.Header, got http.Header) (faults []scenario.Fault) {
	for name, header := range described {
		// OpenAPI: it is described by content.
		if canonical := http.CanonicalHeaderKey(name); canonical != "Content-Type" {
			faults = append(faults, j.header(name, header, got.Values(name))...)
		}
	}
	return faults
}

// header checks one header with the values that a response has for it. Only Set-Cookie may come in several lines
// that are no list (RFC 6265, section 3).
func (j *Judge) header(name string, described *document.Header, values []string) []scenario.Fault {
	where := "header " + name
	if len(values) == 0 {
		return require(!described.Required, where, "required", "is missing")
	}
	mayRepeat := http.CanonicalHeaderKey(name) == "Set-Cookie"
	if len(values) > 1 && !mayRepeat {
		return one(where, "schema", "is given more than once")
	}
	return textFaults(where, described.Schema, values[0])
}

// textFaults checks the text of a header or a parameter.
func textFaults(where string, wanted *schema.Schema, text string) []scenario.Fault {
	value, err := ParseText(wanted, text)
	if err != nil {
		return one(where, "type", err.Error())
	}
	return schema.Faults(where, wanted, value)
}

// What strconv would read otherwise: it takes 1 and T for a boolean, too, and NaN and Inf for a number, which JSON does not have.
var (
	errNoBoolean = errors.New("is not a boolean")
	errInfinite  = errors.New("is not a finite number")
)

// ParseText reads a value from text as its schema says (style "simple"): 1,2 is an array of two integers.
func ParseText(wanted *schema.Schema, text string) (value any, err error) {
	switch schema.TypeOf(wanted) {
	case "integer":
		return strconv.ParseInt(text, 10, 64)
	case "number":
		number, err := strconv.ParseFloat(text, 64)
		if math.IsNaN(number) || math.IsInf(number, 0) {
			return nil, errInfinite
		}
		return number, err
	case "boolean":
		if text != "true" && text != "false" {
			return nil, errNoBoolean
		}
		return text == "true", nil
	case "array":
		array := []any{}
		for part := range strings.SplitSeq(text, ",") {
			item, wrong := ParseText(schema.Of(wanted.Items2020), strings.TrimSpace(part))
			array = append(array, item)
			err = errors.Join(err, wrong)
		}
		return array, err
	}
	return text, nil
}

// unnamedHeaders finds headers that neither the document nor the options name, if the options forbid them.
func (j *Judge) unnamedHeaders(named map[string]*document.Header, got http.Header) (faults []scenario.Fault) {
	if !j.exact() {
		return nil
	}
	for name := range got {
		isNamed := document.HasHeader(named, name) || document.HasHeader(j.Settings.Rules.AnyHeader, name)
		if !isNamed && !slices.Contains(transportHeaders, name) {
			faults = append(faults, one("header "+name, unnamedHeader, "the document names no such header")...)
		}
	}
	return faults
}
