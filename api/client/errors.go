package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrOutcomeUnknown means that a change may have been stored or not: its response
// was lost, or says that a server on the way failed. The error also wraps the
// cause. Read the plant before repeating the change.
var ErrOutcomeUnknown = errors.New("the outcome is unknown")

// ErrNotModified means that the plant has the version in [IfNoneMatch].
var ErrNotModified = errors.New("the plant is not modified")

// An Error is a response that is not a success, or not a whole one, of the service
// or of a proxy before it.
type Error struct {
	Status     int           // the HTTP status
	Code       Code          // the reason; 0 if the response is not from the service
	Message    string        // the text of the service, or the first kilobyte of another body
	Details    []Detail      // the faults of the request, if the service lists them
	RequestID  string        // the id of the request, as in the log of the service
	RetryAfter time.Duration // how long the response asks to wait; 0 if it does not
}

// A Detail is one fault of a request.
type Detail struct {
	In      string // "body", "path", "query" or "header"
	Pointer string // a JSON Pointer into the body, or "/" and the name of a parameter
	Message string
}

// Error returns the message with the status, the code and the request id.
func (e *Error) Error() string {
	status := strings.TrimSpace(strconv.Itoa(e.Status) + " " + http.StatusText(e.Status))
	if e.Code == 0 {
		const most = 200
		if len(e.Message) > most {
			return fmt.Sprintf("%s: %.*q…", status, most, e.Message)
		}
		return fmt.Sprintf("%s: %q", status, e.Message)
	}
	text := fmt.Sprintf("%s (%s, error %d", e.Message, status, e.Code)
	if e.Status >= 500 && e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text + ")"
}

// Unwrap returns the code, for [errors.Is].
func (e *Error) Unwrap() error {
	if e.Code == 0 {
		return nil
	}
	return e.Code
}

// maxMessage is how much of a body that is not the service's is kept.
const maxMessage = 1 << 10

// newError makes an error of a response. It takes whatever the body is.
func newError(resp *http.Response, body []byte) *Error {
	e := &Error{
		Status:     resp.StatusCode,
		RequestID:  resp.Header.Get("X-Request-Id"),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
	}
	var own struct {
		Error     Code
		Message   string
		Details   []Detail
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal(body, &own) == nil && int(own.Error)/100 == e.Status && own.Message != "" {
		e.Code, e.Message, e.Details = own.Error, own.Message, own.Details
		e.RequestID = cmp.Or(own.RequestID, e.RequestID)
		return e
	}
	e.Message = string(body[:min(len(body), maxMessage)])
	if location := resp.Header.Get(hiddenLocation); location != "" {
		e.Message = "redirects are not followed: " + location[:min(len(location), maxMessage)]
	}
	return e
}

// retryAfter reads a Retry-After header: seconds or a date (RFC 9110, section
// 10.2.3). It is 0 for anything else.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, math.MaxInt64/uint64(time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
