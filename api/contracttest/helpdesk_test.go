package contracttest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// helpdesk is a server for testdata/helpdesk.yaml. It has at most one mistake: wrong.
type helpdesk struct {
	http.Handler
	wrong mistake

	mu      sync.Mutex
	last    int64     // the last id of a ticket or comment
	tickets []*ticket // oldest first
	deleted []*ticket
}

type ticket struct {
	ID           int64     `json:"id"`
	Subject      string    `json:"subject"`
	Description  string    `json:"description"`
	Requester    string    `json:"requester"`
	Priority     int64     `json:"priority"`
	Status       string    `json:"status"`
	Assignee     *string   `json:"assignee"`
	Tags         []string  `json:"tags"`
	DueOn        *string   `json:"dueOn"`
	CommentCount int       `json:"commentCount"`
	CreatedAt    time.Time `json:"createdAt"`
	UpdatedAt    time.Time `json:"updatedAt"`

	version  int
	comments []comment
}

type comment struct {
	ID        int64  `json:"id"`
	Author    string `json:"author"`
	Body      string `json:"body"`
	Internal  bool   `json:"internal"`
	CreatedAt string `json:"createdAt"`
}

func (t *ticket) etag() string { return fmt.Sprintf(`"%d-%d"`, t.ID, t.version) }

func (t *ticket) changed() { t.version, t.UpdatedAt = t.version+1, time.Now().UTC() }

// problem is an error that becomes a response.
type problem struct {
	Title  string   `json:"title"`
	Status int      `json:"status"`
	Detail string   `json:"detail,omitempty"`
	Errors []detail `json:"errors,omitempty"`
}

type detail struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (p *problem) Error() string { return p.Title }

func refuse(status int, text string, errs ...detail) error {
	return &problem{http.StatusText(status), status, text, errs}
}

// newHelpdesk returns a server with a mistake, or without one.
func newHelpdesk(wrong mistake) *helpdesk {
	mux := http.NewServeMux()
	s := &helpdesk{Handler: mux, wrong: wrong}
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /v1/tickets":                s.list,
		"POST /v1/tickets":               s.create,
		"GET /v1/tickets/count":          s.count,
		"GET /v1/tickets/{id}":           s.get,
		"PUT /v1/tickets/{id}":           s.replace,
		"PATCH /v1/tickets/{id}":         s.patch,
		"DELETE /v1/tickets/{id}":        s.delete,
		"GET /v1/tickets/{id}/comments":  s.comments,
		"POST /v1/tickets/{id}/comments": s.comment,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			var p *problem
			switch err := handle(w, r); {
			case !errors.As(err, &p):
			case s.wrong == notFoundText && p.Status == 404 && r.Method == "GET":
				http.Error(w, "ticket not found", p.Status)
			case s.wrong == preconditionSchema && p.Status == 412:
				write(w, p.Status, "application/problem+json", map[string]string{"error": "etag does not match"})
			default:
				write(w, p.Status, "application/problem+json", p)
			}
		})
	}
	return s
}

func write(w http.ResponseWriter, status int, mediaType string, body any) {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}

func (s *helpdesk) writeTicket(w http.ResponseWriter, status int, t *ticket) {
	w.Header().Set("ETag", t.etag())
	write(w, status, "application/json", t)
}

// find returns the ticket of the path.
func (s *helpdesk) find(r *http.Request) (*ticket, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if s.wrong == hugeID && errors.Is(err, strconv.ErrRange) {
		return nil, refuse(500, "sql: value out of range")
	}
	if err != nil || id < 1 {
		return nil, refuse(400, "", detail{"ticketId", "must be a positive integer"})
	}
	if i := slices.IndexFunc(s.tickets, func(t *ticket) bool { return t.ID == id }); i >= 0 {
		return s.tickets[i], nil
	}
	return nil, refuse(404, "")
}

// match checks If-Match (RFC 9110, section 13.1.1).
func match(r *http.Request, t *ticket) error {
	if r.Header["If-Match"] == nil || slices.ContainsFunc(etags(r, "If-Match"), func(tag string) bool {
		return tag == "*" || tag == t.etag()
	}) {
		return nil
	}
	return refuse(412, "")
}

func etags(r *http.Request, header string) []string {
	tags := strings.Split(strings.Join(r.Header[header], ","), ",")
	for i := range tags {
		tags[i] = strings.TrimSpace(tags[i])
	}
	return tags
}

func (s *helpdesk) create(w http.ResponseWriter, r *http.Request) error {
	body, err := s.body(r, "application/json", "subject", "requester", "priority")
	if err != nil {
		return err
	}
	t := &ticket{Status: "open", Tags: []string{}, CreatedAt: time.Now().UTC()}
	if s.wrong == nullTags && body["tags"] == nil {
		delete(body, "tags")
	}
	if err := s.set(t, body, false); err != nil {
		return err
	}
	t.changed()
	t.ID = s.newID()
	s.tickets = append(s.tickets, t)
	location := fmt.Sprintf("/v1/tickets/%d", t.ID)
	if s.wrong == locationWithoutBase {
		location = strings.TrimPrefix(location, "/v1")
	}
	w.Header().Set("Location", location)
	s.writeTicket(w, 201, t)
	return nil
}

func (s *helpdesk) newID() int64 {
	s.last++
	if s.wrong != idReused {
		return s.last
	}
	if len(s.tickets) == 0 {
		return 1
	}
	return s.tickets[len(s.tickets)-1].ID + 1
}

func (s *helpdesk) get(w http.ResponseWriter, r *http.Request) error {
	t, err := s.find(r)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(etags(r, "If-None-Match"), func(tag string) bool {
		return tag == "*" || strings.TrimPrefix(tag, "W/") == t.etag()
	}) {
		w.Header().Set("ETag", t.etag())
		w.WriteHeader(304)
		return nil
	}
	s.writeTicket(w, 200, t)
	return nil
}

func (s *helpdesk) replace(w http.ResponseWriter, r *http.Request) error {
	next := ticket{Status: "open", Tags: []string{}}
	return s.change(w, r, "application/json", func(t *ticket) *ticket {
		if s.wrong == putMerges {
			return t
		}
		next.ID, next.CreatedAt, next.CommentCount = t.ID, t.CreatedAt, t.CommentCount
		next.comments, next.version = t.comments, t.version
		return &next
	}, "subject", "requester", "priority")
}

func (s *helpdesk) patch(w http.ResponseWriter, r *http.Request) error {
	err := s.change(w, r, "application/merge-patch+json", func(t *ticket) *ticket { return t })
	var p *problem
	if s.wrong == patchRefusesWith422 && errors.As(err, &p) && p.Status == 400 && p.Errors[0].Field != "ticketId" {
		p.Title, p.Status = "Unprocessable Entity", 422
	}
	return err
}

// change sets the members of the body on what from returns for the ticket of the path.
func (s *helpdesk) change(w http.ResponseWriter, r *http.Request, mediaType string, from func(*ticket) *ticket,
	required ...string,
) error {
	body, err := s.body(r, mediaType, required...)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return refuse(400, "", detail{"", "must have a member"})
	}
	patch := r.Method == "PATCH"
	valid := ticket{} // the body is checked before the ticket is looked up
	if err := s.set(&valid, body, patch); err != nil {
		return err
	}
	t, err := s.find(r)
	if err != nil {
		return err
	}
	if err := match(r, t); err != nil {
		return err
	}
	next := *from(t)
	if patch && s.wrong == patchResetsTags {
		next.Tags = []string{}
	}
	if patch && s.wrong == patchIgnoresNull {
		for name, value := range body {
			if value == nil {
				delete(body, name)
			}
		}
	}
	_ = s.set(&next, body, patch)
	version := next.version
	next.changed()
	if patch && s.wrong == patchKeepsETag {
		next.version = version
	}
	*t = next
	s.writeTicket(w, 200, t)
	return nil
}

func (s *helpdesk) delete(w http.ResponseWriter, r *http.Request) error {
	t, err := s.find(r)
	if err != nil {
		return err
	}
	if err := match(r, t); err != nil && s.wrong != deleteIgnoresIfMatch {
		return err
	}
	s.tickets = slices.DeleteFunc(s.tickets, func(other *ticket) bool { return other == t })
	s.deleted = append(s.deleted, t)
	w.WriteHeader(204)
	return nil
}

func (s *helpdesk) comments(w http.ResponseWriter, r *http.Request) error {
	t, err := s.find(r)
	if err != nil {
		return err
	}
	limit, err := s.limit(r)
	if err != nil {
		return err
	}
	offset := 0
	if text := r.URL.Query()["offset"]; text != nil {
		if offset, err = strconv.Atoi(text[0]); err != nil || offset < 0 || offset > 100_000 {
			return refuse(400, "", detail{"offset", "must be an integer from 0 to 100000"})
		}
	}
	w.Header().Set("X-Total-Count", strconv.Itoa(len(t.comments)))
	from := min(offset, len(t.comments))
	write(w, 200, "application/json", append([]comment{}, t.comments[from:min(from+limit, len(t.comments))]...))
	return nil
}

func (s *helpdesk) comment(w http.ResponseWriter, r *http.Request) error {
	body, err := s.body(r, "application/json", "author", "body")
	if err != nil {
		return err
	}
	c := comment{CreatedAt: time.Now().UTC().Format(time.RFC3339Nano)}
	if s.wrong == commentTimeWithoutZone {
		c.CreatedAt = time.Now().UTC().Format(time.DateTime)
	}
	var wrong []detail
	for name, value := range body {
		ok := false
		switch name {
		case "author":
			c.Author, ok = value.(string)
			ok = ok && agent.MatchString(c.Author)
		case "body":
			c.Body, ok = text(value, 1, 2000)
			ok = ok || s.wrong == blankComment && value == ""
		case "internal":
			c.Internal, ok = value.(bool)
		}
		if !ok {
			wrong = append(wrong, detail{name, "is invalid"})
		}
	}
	if wrong != nil {
		return refuse(400, "", wrong...)
	}
	t, err := s.find(r)
	if err != nil {
		return err
	}
	s.last++
	c.ID = s.last
	t.comments = append(t.comments, c)
	t.CommentCount++
	t.changed()
	write(w, 201, "application/json", c)
	return nil
}

// body returns the object in the body.
func (s *helpdesk) body(r *http.Request, mediaType string, required ...string) (map[string]any, error) {
	got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if (err != nil || got != mediaType) && (s.wrong != anyMediaType || !strings.HasSuffix(r.URL.Path, "/comments")) {
		return nil, refuse(415, "must be "+mediaType)
	}
	var value any
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	err = d.Decode(&value)
	body, ok := value.(map[string]any)
	if _, after := d.Token(); err != nil || after != io.EOF || !ok { //nolint:errorlint // Token does not wrap
		return nil, refuse(400, "", detail{"", "must be a JSON object"})
	}
	var missing []detail
	for _, name := range required {
		if _, ok := body[name]; !ok {
			missing = append(missing, detail{name, "is required"})
		}
	}
	if missing != nil {
		return nil, refuse(400, "", missing...)
	}
	return body, nil
}
