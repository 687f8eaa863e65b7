package contracttest_test

// What the server of the helpdesk takes as a value, and its lists.

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

var (
	agent    = regexp.MustCompile(`^[a-z][a-z0-9._-]{1,31}$`)
	dayShape = regexp.MustCompile(`^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$`)
	statuses = []string{"open", "pending", "solved"}
)

// set sets members of a ticket.
func (s *helpdesk) set(t *ticket, members map[string]any, patch bool) error {
	var wrong []detail
	for name, value := range members {
		ok := false
		switch name {
		case "subject":
			t.Subject, ok = text(value, 1, 200)
			ok = ok && (s.wrong != subjectInBytes || len(t.Subject) <= 200)
		case "description":
			t.Description, ok = text(value, 0, 5000)
		case "requester":
			t.Requester, ok = text(value, 1, 254)
			address, err := mail.ParseAddress(t.Requester)
			ok = ok && err == nil && address.Address == t.Requester
		case "priority":
			t.Priority, ok = integer(value, 1, 5)
		case "status":
			t.Status, ok = value.(string)
			ok = ok && (slices.Contains(statuses, t.Status) || s.wrong == patchTakesAnyStatus && patch)
		case "assignee":
			t.Assignee, ok = textOrNull(value, agent.MatchString)
		case "tags":
			t.Tags, ok = tags(value)
		case "dueOn":
			t.DueOn, ok = textOrNull(value, func(day string) bool {
				_, err := time.Parse(time.DateOnly, day)
				return err == nil || s.wrong == impossibleDate && dayShape.MatchString(day)
			})
		}
		if !ok {
			wrong = append(wrong, detail{name, "is unknown or invalid"})
		}
	}
	if wrong != nil {
		return refuse(400, "", wrong...)
	}
	if s.wrong == tagsNull && len(t.Tags) == 0 {
		t.Tags = nil
	}
	return nil
}

func text(value any, least, most int) (string, bool) {
	s, ok := value.(string)
	length := utf8.RuneCountInString(s)
	return s, ok && least <= length && length <= most
}

func textOrNull(value any, valid func(string) bool) (*string, bool) {
	s, ok := value.(string)
	if !ok {
		return nil, value == nil
	}
	return &s, valid(s)
}

func integer(value any, least, most float64) (int64, bool) {
	n, _ := value.(json.Number)
	f, err := n.Float64()
	return int64(f), err == nil && f == math.Trunc(f) && least <= f && f <= most
}

func tags(value any) ([]string, bool) {
	items, ok := value.([]any)
	tags := []string{}
	for _, item := range items {
		tag, valid := text(item, 1, 30)
		ok = ok && valid && !slices.Contains(tags, tag)
		tags = append(tags, tag)
	}
	return tags, ok && len(tags) <= 10
}

// selected returns the tickets that the filters of the query select.
func (s *helpdesk) selected(r *http.Request) ([]*ticket, error) {
	query := r.URL.Query()
	var wrong []detail
	if status := query["status"]; status != nil && !slices.Contains(statuses, status[0]) {
		wrong = append(wrong, detail{"status", "is unknown"})
	}
	if utf8.RuneCountInString(query.Get("assignee")) > 32 {
		wrong = append(wrong, detail{"assignee", "is too long"})
	}
	counts := r.URL.Path == "/v1/tickets/count"
	if tag := query["tag"]; tag != nil && !counts {
		if _, ok := text(tag[0], 1, 30); !ok {
			wrong = append(wrong, detail{"tag", "must have 1 to 30 characters"})
		}
	}
	if wrong != nil {
		return nil, refuse(400, "", wrong...)
	}
	tickets := slices.Clone(s.tickets)
	if s.wrong == deletedListed && !counts {
		tickets = append(tickets, s.deleted...)
		slices.SortFunc(tickets, func(a, b *ticket) int { return int(a.ID - b.ID) })
	}
	if s.wrong == secondPageUnfiltered && query.Has("cursor") {
		return tickets, nil
	}
	return slices.DeleteFunc(tickets, func(t *ticket) bool {
		return query.Has("status") && t.Status != query.Get("status") ||
			query.Has("assignee") && (t.Assignee == nil || *t.Assignee != query.Get("assignee")) &&
				(s.wrong != countIgnoresAssignee || !counts) ||
			query.Has("tag") && !counts && !slices.Contains(t.Tags, query.Get("tag"))
	}), nil
}

func (s *helpdesk) list(w http.ResponseWriter, r *http.Request) error {
	limit, err := s.limit(r)
	if err != nil {
		return err
	}
	tickets, err := s.selected(r)
	if err != nil {
		return err
	}
	if cursor := r.URL.Query()["cursor"]; cursor != nil {
		text, err := base64.RawURLEncoding.DecodeString(cursor[0])
		after, err2 := strconv.ParseInt(string(text), 10, 64)
		if err != nil || err2 != nil {
			return refuse(400, "", detail{"cursor", "is not a nextCursor"})
		}
		tickets = slices.DeleteFunc(tickets, func(t *ticket) bool { return t.ID <= after })
	}
	page := map[string]any{"items": append([]*ticket{}, tickets...), "nextCursor": nil} // not null if there is none
	if len(tickets) > limit {
		last := tickets[limit-1]
		if s.wrong == cursorSkips {
			last = tickets[limit]
		}
		page["items"] = tickets[:limit]
		page["nextCursor"] = base64.RawURLEncoding.EncodeToString(strconv.AppendInt(nil, last.ID, 10))
	} else if s.wrong == noNextCursor {
		delete(page, "nextCursor")
	}
	write(w, 200, "application/json", page)
	return nil
}

func (s *helpdesk) limit(r *http.Request) (int, error) {
	text := r.URL.Query()["limit"]
	if text == nil {
		return 20, nil
	}
	limit, err := strconv.Atoi(text[0])
	if s.wrong == limitClamped && limit > 100 {
		return 100, nil
	}
	if err != nil || limit < 1 || limit > 100 {
		return 0, refuse(400, "", detail{"limit", "must be an integer from 1 to 100"})
	}
	return limit, nil
}

func (s *helpdesk) count(w http.ResponseWriter, r *http.Request) error {
	tickets, err := s.selected(r)
	if err != nil {
		return err
	}
	write(w, 200, "application/json", map[string]int{"count": len(tickets)})
	return nil
}
