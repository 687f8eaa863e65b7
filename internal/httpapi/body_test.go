package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
)

// A body without a Content-Length is held to the same rules.
func TestBadBody(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for name, c := range map[string]struct {
		body  string
		want  plantapi.ErrorCode
		where string // pointers of the details
	}{
		"duplicate name, escaped":     {`{"id":1,"name":"n","\u0069d":1}`, plantapi.CodeMalformedBody, ""},
		"duplicate in what is unread": {`{"id":1,"name":"n","x":[{"a":1,"a":2}]}`, plantapi.CodeMalformedBody, ""},
		"id of 100,000 digits":        {`{"id":` + strings.Repeat("9", 100_000) + `,"name":"n"}`, plantapi.CodeInvalidBody, "/id"},
		"everything at once":          {`{"id":1.0,"name":7,"tag":null}`, plantapi.CodeInvalidBody, "/id /name /tag"},
		"byte order mark":             {"\ufeff" + `{"id":1,"name":"n"}`, plantapi.CodeMalformedBody, ""},
		"100,000 nested arrays":       {strings.Repeat("[", 100_000), plantapi.CodeMalformedBody, ""},
		"nested deeper than 64":       {`{"id":1,"name":"n","x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, plantapi.CodeMalformedBody, ""},
		"a byte over the limit":       {filled(maxBody + 1), plantapi.CodeBodyTooLarge, ""},
		"nothing":                     {"", plantapi.CodeMissingBody, ""},
	} {
		e := s.post(c.body).wantError(t, c.want)
		chunked := s.post("", func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader(c.body)), -1 })
		if again := chunked.wantError(t, c.want); !reflect.DeepEqual(again, e) {
			t.Errorf("%s: with a Content-Length %+v, without %+v", name, e, again)
		}
		var where []string
		if e.Details != nil {
			for _, d := range *e.Details {
				where = append(where, d.Pointer)
			}
		}
		slices.Sort(where)
		if got := strings.Join(where, " "); got != c.where {
			t.Errorf("%s: %s: details are for %s, want %s", name, e.Message, got, c.where)
		}
		if len(e.Message) > 1000 {
			t.Errorf("%s: the message has %d bytes: it quotes the body", name, len(e.Message))
		}
	}
	s.wantNone(1)
}

func TestBodiesAtTheLimits(t *testing.T) {
	s := newService(t)
	s.post(filled(maxBody)).wantStatus(t, http.StatusOK)
	deep := strings.Repeat("[", 63) + strings.Repeat("]", 63)
	s.post(`{"id":2,"name":"n","x":`+deep+`}`).wantStatus(t, http.StatusOK)
}

// A body that is announced as too large is refused before it is sent.
func TestTooLargeBodyIsNotRead(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.speak(rawPost(10<<20, ""), false).wantError(t, plantapi.CodeBodyTooLarge)
}

// A body that ends before its announced length is cut short; nothing is stored.
func TestBodyCutShort(t *testing.T) {
	s := newService(t)
	a := s.speak(rawPost(30, `{"id":1,"name":"n"}`), true)
	a.wantError(t, plantapi.CodeIncompleteBody)
	if !a.Close {
		t.Error("the response does not say that the connection is closed")
	}
	s.wantNone(1)
}

// rawGet writes a request without a body.
func rawGet(path string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, staticToken)
}

// rawPost writes a create whose announced length may differ from its body's.
func rawPost(length int, body string) string {
	return fmt.Sprintf("POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", staticToken, length, body)
}

// filled returns a valid body of exactly n bytes that creates plant 1.
func filled(n int) string {
	const empty = `{"id":1,"name":"n","unknown":""}`
	return strings.Replace(empty, `""`, `"`+strings.Repeat("x", n-len(empty))+`"`, 1)
}

// speak sends a request as it is written over a connection of its own, closes
// the sending half if told to, and returns the answer.
func (s *service) speak(request string, halfClose bool) response {
	s.t.Helper()
	a := s.speakUnheld(request, halfClose)
	line := strings.Fields(request)
	path := line[1]
	if u, err := url.Parse(path); err == nil && path != "*" {
		path = u.EscapedPath()
	}
	plantcontract.Plants().Check(s.t, contracttest.Interaction{
		Method: line[0], URL: s.url + line[1], Path: path,
		Status: a.StatusCode, Header: a.Header, Body: []byte(a.body),
	})
	return a
}

// speakUnheld is speak for requests that net/http refuses before there is a
// handler, in words of its own, and for targets that the document does not have.
func (s *service) speakUnheld(request string, halfClose bool) response {
	s.t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(s.url, "http://"), 10*time.Second)
	must.NoError(s.t, err)
	defer conn.Close()
	must.NoError(s.t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	go func() { // what is too large is answered before it is read
		_, _ = io.WriteString(conn, request)
		if halfClose {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must.NoError(s.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must.NoError(s.t, err)
	return response{resp, string(body)}
}
