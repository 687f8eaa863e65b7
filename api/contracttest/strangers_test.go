package contracttest_test

import (
	_ "embed"
	"fmt"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/internal/testing/must"
)

//go:embed testdata/helpdesk.yaml
var helpdeskDocument []byte

// mistake is what is wrong with a server of the helpdesk.
type mistake string

const (
	none mistake = ""

	// State.
	deletedListed        mistake = "a deleted ticket stays in the list"
	secondPageUnfiltered mistake = "filters are ignored after the first page"
	cursorSkips          mistake = "the next page skips a ticket"
	patchResetsTags      mistake = "a patch resets the tags"
	patchIgnoresNull     mistake = "a patch ignores null"
	putMerges            mistake = "PUT keeps what is left out"
	deleteIgnoresIfMatch mistake = "DELETE ignores If-Match"
	patchKeepsETag       mistake = "a patch keeps the ETag"
	countIgnoresAssignee mistake = "the count ignores the filter by assignee"
	idReused             mistake = "the id of a deleted ticket is assigned again"

	// Validation.
	subjectInBytes      mistake = "the length of a subject is counted in bytes"
	limitClamped        mistake = "a limit above the maximum is taken as the maximum"
	patchTakesAnyStatus mistake = "a patch takes any status"
	nullTags            mistake = "null is taken as no tags"
	anyMediaType        mistake = "a comment may have any media type"
	blankComment        mistake = "a comment may be empty"
	hugeID              mistake = "an id beyond int64 is a server error"
	impossibleDate      mistake = "February 30 is taken as a date"

	// Responses.
	patchRefusesWith422    mistake = "an invalid patch is 422"
	locationWithoutBase    mistake = "Location lacks the base path"
	noNextCursor           mistake = "the last page lacks nextCursor"
	tagsNull               mistake = "no tags are null"
	commentTimeWithoutZone mistake = "the time of a comment lacks the zone"
	notFoundText           mistake = "404 is plain text"
	preconditionSchema     mistake = "412 has another body"
)

// strangers are the mistakes, chosen from the document before the engine was known.
var strangers = []struct {
	mistake
	breaks string // the sentence or keyword of the document, or the RFC
	// found is text of what the document alone shows: the test, the cause and the message.
	found string
}{
	{
		deletedListed, "deleteTicket: They are no longer returned, listed or counted.",
		"listTickets shows what exists",
	},
	{
		secondPageUnfiltered, "listTickets: Pages … contain each ticket that matches exactly once.",
		"listTickets, effect of parameter status",
	},
	{
		cursorSkips, "listTickets: Pages … contain each ticket that matches exactly once.",
		"listTickets, effect of parameter cursor: listTickets: pages lack what exists",
	},
	{
		patchResetsTags, "patchTicket: leaves the others as they are (JSON Merge Patch, RFC 7396)",
		"a read does not show a change: was sent tags",
	},
	{patchIgnoresNull, "patchTicket: null clears assignee and dueOn", "a read does not show a change: was sent"},
	{
		putMerges, "replaceTicket: A member that the request leaves out gets its default.",
		"a replacement removes what it does not have",
	},
	{
		deleteIgnoresIfMatch, "If-Match: it is left as it is, and the response is 412; RFC 9110, section 13.1.1",
		"deleteTicket succeeds although the precondition does not hold",
	},
	{
		patchKeepsETag, "ETag: Each change gives the ticket another one; RFC 9110, section 8.8.1",
		"a change changes the ETag",
	},
	{
		countIgnoresAssignee, "countTickets: how many tickets GET /tickets lists with the same filters",
		"countTickets, effect of parameter assignee",
	},
	{
		idReused, "createTicket: An id is never assigned twice, even after the ticket is deleted.",
		"an identity is assigned once",
	},

	{
		subjectInBytes, "subject maxLength: characters (JSON Schema Validation, section 6.3.1)",
		"/subject maxLength, accepted",
	},
	{limitClamped, "limit maximum: 100, and refused with 400", "a value that breaks maximum is accepted as parameter limit"},
	{patchTakesAnyStatus, "TicketPatch.status enum", "Status in requests: a value that is not in the enum is accepted"},
	{nullTags, "TicketInput.tags is not nullable", "TicketInput in requests: null is accepted as /tags"},
	{anyMediaType, "addComment: application/json, and 415 for others", "bodies of another media type are accepted"},
	{blankComment, "CommentInput.body minLength: 1", "CommentInput in requests: a value that breaks minLength is accepted as /body"},
	{hugeID, "ticketId format: int64, and refused with 400", "a value of parameter ticketId gives 500"},
	{impossibleDate, "TicketInput.dueOn format: date (RFC 3339, section 5.7)", "TicketInput in requests: a value of another format is accepted as /dueOn"},

	{patchRefusesWith422, "patchTicket has 400 and no 422", "the status 422 is not documented"},
	{locationWithoutBase, "Location: The URL of the new ticket; RFC 9110, section 10.2.2", "Location leads to the resource"},
	{noNextCursor, "TicketPage required: nextCursor", "TicketPage in responses: /nextCursor is missing"},
	{tagsNull, "Ticket.tags is not nullable", "Ticket in responses: /tags is null"},
	{commentTimeWithoutZone, "Comment.createdAt format: date-time", "Comment in responses: /createdAt does not have its format"},
	{notFoundText, "NotFound: application/problem+json", "another media type: text/plain"},
	{
		preconditionSchema, "PreconditionFailed: Problem required: title, status",
		"Problem in responses: /title is missing",
	},
}

// TestStrangers shows that the engine finds, by the document alone, at least the mistakes that it once found.
func TestStrangers(t *testing.T) {
	must.HaveTime(t)
	t.Run("the right server", func(t *testing.T) {
		for accusation := range accusations(t, none) {
			t.Errorf("accused: %s", accusation)
		}
	})
	for _, s := range strangers {
		t.Run(string(s.mistake), func(t *testing.T) {
			t.Parallel()
			for accusation := range accusations(t, s.mistake) {
				if strings.Contains(accusation, s.found) {
					return
				}
			}
			t.Errorf("%q is no longer found, which breaks %q", s.mistake, s.breaks)
		})
	}
}

// accusations runs the generated tests on a server with a mistake, and returns the test, the cause and the message of
// each failure.
func accusations(t *testing.T, wrong mistake) iter.Seq[string] {
	return func(yield func(string) bool) {
		contract, err := contracttest.New(helpdeskDocument, contracttest.Options{})
		must.NoError(t, err)
		server := httptest.NewServer(newHelpdesk(wrong))
		defer server.Close()
		for test := range contract.Tests(t.Context()) {
			outcome := test.Try(t.Context(), contracttest.Target{URL: server.URL + "/v1"})
			for _, f := range outcome.Failures {
				if !yield(fmt.Sprint(f.Test, ": ", report.CauseText(f.Cause), ": ", f.Message)) {
					return
				}
			}
		}
	}
}
