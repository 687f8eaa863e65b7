package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// NotWritten is why the promises of an operation cannot be tried before it is written.
func NotWritten(operationID string, status int) scenario.NotTested {
	return scenario.NotTested(fmt.Sprintf("%s is not written yet: it responds with %d", operationID, status))
}

// send sends a request, once, and judges the response. Its error says why the test must not go on; [limited] and [refused]: send
// it again later.
func (s *session) send(request scenario.Request) error {
	if why := s.state.noMore(); why != "" {
		return why
	}
	if s.user == scenario.Anonymous {
		request.Access = scenario.Only() // of no scheme: none is missing, and none is sent
	}
	credentials, err := s.credentialsFor(s.Plan.Document.Serving(request.Method, request.Path), request.Access)
	if err != nil {
		return err
	}
	x := scenario.Interaction{Method: request.Method, Path: request.Path, RequestBody: request.Body, User: s.user}
	silent := s.judge().Silent(x)
	within, err := s.hangs.within(silent.Operation, request, s.timeout())
	if err != nil {
		return err
	}
	operation := s.Plan.Document.Find(request.Method, request.Path)
	if operation != nil && operation.Streams() {
		within = s.timeout()
	}
	begin := time.Now()
	waits := s.inTime(within)
	ctx, cancel := context.WithTimeout(s.ctx, waits)
	defer cancel()
	sent, err := s.newRequest(ctx, request, credentials)
	if err != nil {
		return scenario.Brokenf("%v", err)
	}
	x.URL = sent.URL.String()
	x.RequestHeader = sent.Header
	response, received, err := s.exchange(sent, request.Body)
	if errors.Is(err, errTooLong) {
		return errTooLong
	}
	if waits < within && errors.Is(err, context.DeadlineExceeded) {
		err = errNotWaited
	}
	if err != nil {
		s.last = x
		if errors.Is(err, syscall.ECONNREFUSED) {
			return refused
		}
		s.steps.add(x)
		s.state.noteSilent(x)
		return s.noResponse(silent, request, err, time.Since(begin).Round(time.Second))
	}
	s.state.noteResponse()
	s.hangs.responded(silent.Operation, request, response.StatusCode, time.Since(begin))
	x.Receive(response.StatusCode, response.Header, received)
	return s.noteResponse(operation, request, x)
}

// noteResponse remembers a response and judges it, unless it shows nothing of what the test is about.
func (s *session) noteResponse(operation *document.Operation, request scenario.Request, x scenario.Interaction) error {
	if err := s.hasEnded(operation, request, x); err != nil {
		return err
	}
	if err := s.cannotTry(x, request.Access); err != nil {
		return err
	}
	s.last = x
	s.steps.add(x)
	s.Plan.World.Learn(x)
	s.failures = append(s.failures, s.Observe(x, s.test.Name, s.asked)...)
	if x.Status == http.StatusTooManyRequests && !s.mayBeLimited {
		return limited
	}
	return nil
}

// waitShare bounds how long one request waits for a response that may rightly be slow: a quarter of the time that a run has left.
const waitShare = 4

// errNotWaited means that a response may have come later, but the run has no time to wait for it.
var errNotWaited = errors.New("not waited for")

const noTimeToWait scenario.NotTested = "there was no response, and no time to wait longer for one: give more as --max-time, in Go Limits.Time of the options"

// inTime is how long a request waits: as long as the response may take. In a run that ends, what may take longer than the timeout
// gets no more than its share of the time that is left.
func (s *session) inTime(within time.Duration) time.Duration {
	end, ends := s.ctx.Deadline()
	if !ends {
		return within
	}
	return min(within, max(time.Until(end)/waitShare, s.timeout()))
}

// noResponse is what is wrong with a service that gives no response, or why that shows nothing: something else may hold up the
// response, or the run has ended, or has no time to wait longer.
func (s *session) noResponse(cause scenario.Cause, request scenario.Request, why error, waited time.Duration) error {
	rank := scenario.Crash
	switch {
	case s.ctx.Err() != nil:
		s.hangs.noteWait(request, waited)
		return scenario.NotTested("the run has ended before there was a response")
	case errors.Is(why, errNotWaited):
		s.hangs.noteWait(request, waited)
		return cmp.Or(s.hangs.hung(cause.Operation, request), error(noTimeToWait))
	case errors.Is(why, context.DeadlineExceeded):
		if held := s.hangs.hung(cause.Operation, request); held != nil {
			return held
		}
		rank = scenario.Hang
		why = fmt.Errorf("no complete response in %v", waited)
	}
	return scenario.Broken{Cause: cause, Rank: rank, Message: why.Error()}
}

// newRequest makes a request with the header of the options and credentials.
func (s *session) newRequest(ctx context.Context, request scenario.Request, credentials scenario.Credentials) (*http.Request, error) {
	address := s.target.URL + request.Path
	if query := strings.Join(request.Query, "&"); query != "" {
		address += "?" + query
	}
	sent, err := http.NewRequestWithContext(ctx, request.Method, address, bytes.NewReader(request.Body))
	if err != nil {
		return nil, err
	}
	sent.Header = request.Header.Clone()
	for name, credential := range credentials {
		Apply(sent, s.Plan.Document.Scheme(name), credential)
	}
	s.AddHeader(sent.Header, request.Access)
	return sent, nil
}

// exchange sends a request and reads the response. If the connection is closed without a response, the request is sent once
// more: some services close it after they have failed, which is no fault of this request. The error is that of the first try.
func (s *session) exchange(sent *http.Request, body []byte) (*http.Response, []byte, error) {
	transport := cmp.Or(s.target.Transport, http.DefaultTransport)
	response, err := transport.RoundTrip(sent)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) {
		sent.Body = io.NopCloser(bytes.NewReader(body))
		if again, failed := transport.RoundTrip(sent); failed == nil {
			response = again
			err = nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	received, err := receive(response)
	return response, received, err
}

// errTooLong means that a response was not read to its end, and so shows nothing.
var errTooLong = scenario.NotTested(fmt.Sprintf("a response has more than %d bytes, which the engine does not read", scenario.MostRead))

// receive reads a body. Of an event stream, which may have no end, it reads until there is an event.
func receive(response *http.Response) ([]byte, error) {
	// One byte more shows that it is too long.
	body := io.LimitReader(response.Body, scenario.MostRead+1)
	var received []byte
	var err error
	if scenario.IsEventStream(response.Header) {
		received, err = receiveEvent(body)
	} else {
		received, err = io.ReadAll(body)
	}
	if len(received) > scenario.MostRead {
		return nil, errTooLong
	}
	return received, err
}

// receiveEvent reads an event stream until there is an event, or the time is over: where nothing happens, there is no event.
// What is wrong with its lines is for the judge.
func receiveEvent(body io.Reader) (received []byte, err error) {
	part := make([]byte, 4096)
	for {
		n, err := body.Read(part)
		received = append(received, part[:n]...)
		events, _ := scenario.Interaction{Body: received}.Events()
		switch {
		case err == io.EOF, errors.Is(err, context.DeadlineExceeded), len(events) > 0:
			return received, nil
		case err != nil:
			return received, err
		}
	}
}

// cannotTry returns why a response shows nothing, or nil: no credentials were given for what asks for them, or the operation is
// not written yet, or not a part of this service. A service may ask for credentials before it says that it does not have a path.
func (s *session) cannotTry(x scenario.Interaction, access scenario.Access) error {
	serving := s.Plan.Document.Serving(x.Method, x.Path)
	switch {
	case serving == nil && x.Status == http.StatusUnauthorized && s.lacksCredentials():
		return noCredentials
	case serving == nil:
		return nil
	case s.asksInVain(serving, access, x.Status):
		return noCredentials
	case x.Status == s.NotWritten:
		return NotWritten(serving.ID, x.Status)
	case x.Status == http.StatusNotImplemented && serving.Lists(x.Status):
		return notHere
	}
	return nil
}

const notHere scenario.NotTested = "it responds with 501, which the document lists: the service does not have it here"
