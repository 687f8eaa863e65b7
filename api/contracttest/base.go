package contracttest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/run"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// CheckBase returns an error if nothing at the URL of a target responds as the document says. It sends the plainest
// request of one operation after the other, until a response has a status of its operation. With a wrong base path,
// [Contract.Run] would report causes for each operation, and none of them would say why. It returns nil if there was no
// response at all: then a run says why.
func (c *Contract) CheckBase(ctx context.Context, target Target) error {
	hasResponse := false
	for _, operation := range c.document.Operations {
		test, canBeSent := c.plan.PlainTest(operation)
		if !canBeSent {
			continue
		}
		outcome := c.runner.Run(ctx, test, run.Target(target))
		statuses := c.ledger.Statuses(operation.ID)
		isServed := func(status int) bool { return c.isServed(operation, status, outcome) }
		if ctx.Err() != nil || slices.ContainsFunc(statuses, isServed) {
			return nil
		}
		hasResponse = hasResponse || len(statuses) > 0
	}
	if !hasResponse {
		return nil
	}
	return fmt.Errorf("nothing at %s responds as the document says: is the base path missing?%s", target.URL, c.servers())
}

// isServed reports whether a status shows that an operation is at the URL. A gateway that asks for credentials, and
// a service that fails, are there.
func (c *Contract) isServed(operation *document.Operation, status int, outcome Outcome) bool {
	isDocumented := operation.Response(status) != nil
	switch status {
	case http.StatusNotFound:
		// What a parameter of the path names need not exist: then the response is as the document says. Where other paths have no
		// parameter, these must show that the service is there.
		isOfDocument := isDocumented && !slices.ContainsFunc(outcome.Failures, isOfForm)
		return isOfDocument && !slices.ContainsFunc(c.document.Operations, isWhole)
	case http.StatusMethodNotAllowed:
		return false
	case http.StatusUnauthorized, http.StatusForbidden:
		return true
	}
	return isDocumented || status >= http.StatusInternalServerError
}

// isOfForm reports whether a failure is about what a response looks like.
func isOfForm(failure Failure) bool {
	return failure.Rank == scenario.Response || failure.Rank == scenario.Undocumented
}

// isWhole reports whether the path of an operation has no parameter.
func isWhole(operation *document.Operation) bool { return len(operation.PathNames) == 0 }

// servers is a sentence with the servers of the document, if it has any.
func (c *Contract) servers() string {
	var urls []string
	for _, server := range c.document.Servers {
		urls = append(urls, withDefaults(server))
	}
	if len(urls) == 0 {
		return ""
	}
	return " The document has the servers " + strings.Join(urls, ", ")
}

// withDefaults is the URL of a server with its variables filled in.
func withDefaults(server document.Server) string {
	url := server.URL
	for name, variable := range server.Variables {
		url = strings.ReplaceAll(url, "{"+name+"}", variable)
	}
	return url
}
