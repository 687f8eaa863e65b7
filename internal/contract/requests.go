package contract

import "net/http"

// Request is a request without credentials, as it is sent.
type Request struct {
	Operation           string // the operationId that it was made for
	Obeys               bool   // the document allows it
	Method, Path, Query string // path and query are escaped
	Header              http.Header
	Body                []byte
}

// Requests returns the requests that the tests of [Generated] send: each keyword
// of the document obeyed and broken. They are for a test that needs something to
// start from.
func Requests(firstID int64) ([]Request, error) {
	ds, err := documents()
	if err != nil {
		return nil, err
	}
	var all []Request
	for _, c := range newSuite(ds.api, firstID).cases() {
		if c.anonymous == "" {
			all = append(all, Request{c.route.operation.OperationID, c.want == 0, c.route.method, c.path, c.query, c.header, c.body})
		}
	}
	return all, nil
}

// Curl returns a command line that sends the request to a service.
func (r Request) Curl(service string) string {
	url := service + r.Path
	if r.Query != "" {
		url += "?" + r.Query
	}
	return curl(Exchange{Method: r.Method, URL: url, RequestHeader: r.Header, RequestBody: r.Body})
}
