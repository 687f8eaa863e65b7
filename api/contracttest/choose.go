package contracttest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
)

// Why operations are not tested.
const (
	leftOut     = "the options leave it out"
	notIncluded = "the options do not include it"
	logsOut     = "its name says that it ends the credentials, which all other requests need" + allTheSame
	dangerous   = "its name says that it ends the service or drops data" + allTheSame
	allTheSame  = ": to send it all the same, name it in --include, in Go Include"
)

// choice says which operations of a document are tested.
type choice struct {
	// By operationId, with the reason: no request of an operation in never is sent. Those of one in unwanted are sent only where
	// tests of other operations need them.
	never, unwanted map[string]string
}

// chosen is what the options choose. It is an error if a pattern of Include or Exclude fits no operation.
func (o Options) chosen(operations []*document.Operation) (choice, error) {
	chosen := choice{never: map[string]string{}, unwanted: map[string]string{}}
	for _, pattern := range slices.Concat(o.Include, o.Exclude) {
		fits := func(operation *document.Operation) bool { return isAmong([]string{pattern}, operation) }
		if !slices.ContainsFunc(operations, fits) {
			return chosen, fmt.Errorf("contracttest: the options include or exclude %q, but no operation has this id, path, method or tag", pattern)
		}
	}
	for _, operation := range operations {
		isWanted := len(o.Include) == 0 || isAmong(o.Include, operation)
		if why := o.whyNever(operation); why != "" {
			chosen.never[operation.ID] = why
		} else if !isWanted {
			chosen.unwanted[operation.ID] = notIncluded
		}
	}
	return chosen, nil
}

// whyNever is why no request of an operation is sent, or nothing.
func (o Options) whyNever(operation *document.Operation) string {
	switch {
	case isAmong(o.Exclude, operation):
		return leftOut
	case isNamed(o.Include, operation):
		return ""
	case endsSession(operation):
		return logsOut
	case endsService(operation), isDangerous(operation):
		return dangerous
	}
	return ""
}

// isAmong reports whether one of the patterns is the id, the path, the method or a tag of an operation. A star at
// the end of an id or a path stands for anything.
func isAmong(patterns []string, operation *document.Operation) bool {
	if isNamed(patterns, operation) {
		return true
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if pattern == operation.Method || slices.Contains(operation.Tags, pattern) {
			return true
		}
		beginning, hasStar := strings.CutSuffix(pattern, "*")
		isBeginning := strings.HasPrefix(operation.ID, beginning) || strings.HasPrefix(operation.Template, beginning)
		return hasStar && isBeginning
	})
}

// isNamed reports whether one of the patterns is the id, the path, or the method and the path of an operation, as "GET /things".
func isNamed(patterns []string, operation *document.Operation) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.Contains([]string{operation.ID, operation.Template, operation.Method + " " + operation.Template}, pattern)
	})
}

// wordOfName finds a word of a name such as resetAll, reset_all or /reset.
var wordOfName = regexp.MustCompile(`[A-Z]?[a-z]+`)

// endsService reports whether the name or the path of an operation says that it ends the service or begins it anew, also by GET. One
// with a parameter, as /jobs/{id}/restart, does that to something else.
func endsService(operation *document.Operation) bool {
	return isWhole(operation) && hasWord(operation, "shutdown", "restart", "reboot", "halt")
}

// isDangerous reports whether the name or the path of an operation that is no read says that it ends the service, drops what
// the service has, or begins its maintenance, in which it refuses all changes.
func isDangerous(operation *document.Operation) bool {
	isRead := slices.Contains([]string{http.MethodGet, http.MethodHead}, operation.Method)
	return !isRead && hasWord(operation, "shutdown", "terminate", "drop", "reset", "clear", "wipe", "purge", "maintenance")
}

// endsSession reports whether the name or the path of an operation says that it ends the session of the user, also by GET, as
// links of pages do; or that it changes the password of the user who sends the request: at a path such as /me/password, without
// a parameter for another user.
func endsSession(operation *document.Operation) bool {
	isOwnPassword := strings.HasSuffix(strings.ToLower(operation.Template), "/password") && isWhole(operation)
	changesPassword := isOwnPassword && operation.Method != http.MethodGet
	return changesPassword || hasWord(operation, "logout", "signout")
}

// hasWord reports whether the name or the path of an operation has one of some words, in any case.
func hasWord(operation *document.Operation, words ...string) bool {
	found := wordOfName.FindAllString(operation.ID+" "+operation.Template, -1)
	return slices.ContainsFunc(found, func(word string) bool { return slices.Contains(words, strings.ToLower(word)) })
}
