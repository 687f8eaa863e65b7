package contracttest_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// roots are mistakes that many tests see, each in another operation or another way, and what a reader is told.
var roots = map[mistake][]string{
	tagsNull: {"Ticket in responses: /tags is null"},
	hugeID:   {"an invalid parameter ticketId gives 500"},
	// What is accepted comes back in responses, and that is no cause of its own.
	impossibleDate: {
		"TicketInput in requests: a value of another format is accepted as /dueOn",
		"TicketPatch in requests: a value of another format is accepted as /dueOn",
	},
	limitClamped: {"a value that breaks maximum is accepted as parameter limit"},
}

// A mistake is told once, by what has to be mended: a component or a parameter that operations share.
func TestRoots(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	for wrong, want := range roots {
		contract, err := contracttest.New(helpdeskDocument, contracttest.Options{})
		must.NoError(t, err)
		server := httptest.NewServer(newHelpdesk(wrong))
		report, err := contract.Run(t.Context(), contracttest.Target{URL: server.URL + "/v1"})
		server.Close()
		must.NoError(t, err)
		if got := causesOf(report); !slices.Equal(got, want) {
			t.Errorf("of %q the causes are %q, want %q", wrong, got, want)
		}
	}
}

// A create is not accused where what it creates is found, and an operation below it is missing.
func TestMissingOperation(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	contract, err := contracttest.New(helpdeskDocument, contracttest.Options{})
	must.NoError(t, err)
	desk := newHelpdesk(none)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/comments") {
			http.NotFound(w, r)
			return
		}
		desk.ServeHTTP(w, r)
	}))
	defer server.Close()
	report, err := contract.Run(t.Context(), contracttest.Target{URL: server.URL + "/v1"})
	must.NoError(t, err)
	causes := causesOf(report)
	if slices.Contains(causes, "createTicket: what it creates is not found") || len(causes) == 0 {
		t.Errorf("the causes are %q, want those of comments", causes)
	}
}

// A valid value that is refused is named, where its operation accepts others.
func TestRefusedMember(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	contract, err := contracttest.New(helpdeskDocument, contracttest.Options{})
	must.NoError(t, err)
	server := httptest.NewServer(newHelpdesk(subjectInBytes))
	defer server.Close()
	report, err := contract.Run(t.Context(), contracttest.Target{URL: server.URL + "/v1"})
	must.NoError(t, err)
	const want = "TicketInput in requests: a valid /subject is refused with 400"
	if got := causesOf(report); !slices.Contains(got, want) {
		t.Errorf("the causes are %q, want %q", got, want)
	}
}

// causesOf are the titles of the causes, sorted.
func causesOf(report contracttest.Report) (titles []string) {
	for _, cause := range report.Causes {
		titles = append(titles, cause.Cause)
	}
	slices.Sort(titles)
	return titles
}
