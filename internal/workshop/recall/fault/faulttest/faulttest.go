// Package faulttest shows that a server is right, and that each of its faults can be seen by a client.
package faulttest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/workshop/recall/fault"
)

// Check makes requests, and tells whether the responses are those that the document asks for.
type Check func(c *Client) bool

// Run runs the check of each fault on the right server, where it must hold, and on the one with the fault, where it
// must not.
func Run(t *testing.T, faults []fault.Fault, handler func(has func(string) bool) http.Handler, checks map[string]Check) {
	t.Helper()
	for _, one := range faults {
		t.Run(one.Name, func(t *testing.T) {
			check, exists := checks[one.Name]
			if !exists {
				t.Fatal("no check shows this fault")
			}
			for _, name := range []string{"", one.Name} {
				server := httptest.NewServer(handler(fault.Only(name)))
				isRight := check(&Client{t: t, url: server.URL})
				server.Close()
				if shouldBeRight := name == ""; isRight != shouldBeRight {
					t.Errorf("with the fault %q the check is %t", name, isRight)
				}
			}
		})
	}
	if len(checks) != len(faults) {
		t.Errorf("%d checks for %d faults", len(checks), len(faults))
	}
}

// Client makes requests to one server.
type Client struct {
	t      *testing.T
	url    string
	Header http.Header // of every request that does not have it
}

// Response is what a server responds. Body is the text, and JSON what it decodes to, if it does.
type Response struct {
	Status int
	Header http.Header
	Body   string
	JSON   any
}

// Member returns a member of the object in the body, or nil.
func (r Response) Member(name string) any {
	object, _ := r.JSON.(map[string]any)
	return object[name]
}

// Do sends a request. The headers are "Name: value".
func (c *Client) Do(method, path, body string, headers ...string) Response {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header = c.Header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	sent, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer sent.Body.Close()
	text, err := io.ReadAll(sent.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	response := Response{Status: sent.StatusCode, Header: sent.Header, Body: strings.TrimSpace(string(text))}
	_ = json.Unmarshal(text, &response.JSON) // an empty body is none
	return response
}

// Right tests the server without a fault.
func Right(t *testing.T, handler func(has func(string) bool) http.Handler, test func(*testing.T, *Client)) {
	t.Helper()
	server := httptest.NewServer(handler(fault.Only("")))
	defer server.Close()
	test(t, &Client{t: t, url: server.URL})
}
