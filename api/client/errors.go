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
// cause. Read the plant before you repeat the change.
var ErrOutcomeUnknown = errors.New("the outcome is unknown")

// ErrNotModified means that the plant has the version in [IfNoneMatch].
var ErrNotModified = errors.New("the plant is not modified")

// An Error is a response that is not a success, is cut short, or does not come from the
// service but, for example, from a proxy before it.
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
	Message string // what is wrong there, as in "must be an integer"

	// The client makes these of Pointer and of the plants in the request.
	Field   string // "id", "name" or "tag" of a plant, or the name of a parameter
	Index   int    // the index of the plant in a batch; -1: no batch, or the fault is not in one of its plants
	PlantID int64  // the id of the plant in a batch, or of the plant of the request; 0 if there is neither
}

// locate sets what follows from the pointer and the ids of the plants in the request.
func (d *Detail) locate(ids []int64) {
	parts := strings.Split(d.Pointer, "/")
	d.Field, d.Index = parts[len(parts)-1], -1
	if len(ids) == 1 {
		d.PlantID = ids[0]
	}
	var index uint
	if _, err := fmt.Sscanf(d.Pointer, "/plants/%d", &index); err == nil && index < uint(len(ids)) {
		d.Index, d.PlantID = int(index), ids[index]
	}
}

// String says where the fault is and what is wrong, as in "plant 7: id belongs to another plant".
func (d Detail) String() string {
	text := d.Field + " " + d.Message
	if d.Index >= 0 {
		text = fmt.Sprintf("plant %d: %s", d.PlantID, text)
	}
	return text
}

// Error returns the message, or the details, with the status, the code and the request id.
func (e *Error) Error() string {
	status := strings.TrimSpace(strconv.Itoa(e.Status) + " " + http.StatusText(e.Status))
	if e.Code == 0 {
		const most = 200
		if len(e.Message) > most {
			return fmt.Sprintf("%s: %.*q…", status, most, e.Message)
		}
		return fmt.Sprintf("%s: %q", status, e.Message)
	}
	text := e.Message
	if len(e.Details) > 0 { // they say the same with the ids of the plants
		details := make([]string, len(e.Details))
		for i, d := range e.Details {
			details[i] = d.String()
		}
		text = cmp.Or(codeText[e.Code], e.Message) + ": " + strings.Join(details, "; ")
	}
	text += fmt.Sprintf(" (%s, error %d", status, e.Code)
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

// newError makes an error of a response with any body.
func newError(resp *http.Response, body []byte) *Error {
	e := &Error{
		Status:     resp.StatusCode,
		RequestID:  resp.Header.Get("X-Request-Id"),
		RetryAfter: RetryAfter(resp.Header, time.Now()),
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

// RetryAfter returns how long the header Retry-After of a response asks to wait: seconds
// or a date (RFC 9110, section 10.2.3). It is 0 for anything else.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, math.MaxInt64/uint64(time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// A Code is the reason that the service gives for an error: the HTTP status and
// two more digits. It is an error itself, for [errors.Is]:
//
//	if errors.Is(err, client.ErrNoSuchPlant) { … }
type Code int32

// The codes of the service.
const (
	ErrMalformedBody        Code = 40001 // the body is not exactly one JSON value
	ErrInvalidBody          Code = 40002 // the body does not match the schema; Details lists the faults
	ErrInvalidParameter     Code = 40003 // a parameter is not valid; Details lists the faults
	ErrUnsupportedMediaType Code = 40004 // the operation does not accept the Content-Type
	ErrMissingBody          Code = 40005 // the body is missing
	ErrBodyTooLarge         Code = 40006 // the body is larger than the limit
	ErrIncompleteBody       Code = 40007 // the body is cut short or arrives too slowly
	ErrIDTaken              Code = 40010 // another plant has this id; nothing changed; Details lists the plants of a batch
	ErrNoCredentials        Code = 40100 // the request has no token
	ErrBadCredentials       Code = 40101 // the token is unknown, malformed, expired or revoked
	ErrInsufficientScope    Code = 40300 // the token lacks the scope
	ErrNoSuchPath           Code = 40400 // the path is unknown
	ErrNoSuchPlant          Code = 40401 // no plant has this id
	ErrMethodNotAllowed     Code = 40500 // the path does not offer the method
	ErrPositionGone         Code = 41000 // the position is not valid any more: begin again without one
	ErrPreconditionFailed   Code = 41200 // the plant does not meet the condition
	ErrTooManyRequests      Code = 42900 // too many requests; RetryAfter says how long to wait
	ErrInternal             Code = 50000 // an error in the service
	ErrUnavailable          Code = 50300 // the service is not available; a change may have been stored or not
	ErrNoChanges            Code = 50301 // the store of the service keeps no changes; the message says why
)

var codeText = map[Code]string{
	ErrMalformedBody:        "the body is not exactly one JSON value",
	ErrInvalidBody:          "the body does not match the schema",
	ErrInvalidParameter:     "a parameter is not valid",
	ErrUnsupportedMediaType: "the operation does not accept the Content-Type",
	ErrMissingBody:          "the body is missing",
	ErrBodyTooLarge:         "the body is larger than the limit",
	ErrIncompleteBody:       "the body is cut short or arrives too slowly",
	ErrIDTaken:              "another plant has this id",
	ErrNoCredentials:        "the request has no token",
	ErrBadCredentials:       "the token is not valid",
	ErrInsufficientScope:    "the token lacks the scope",
	ErrNoSuchPath:           "the path is unknown",
	ErrNoSuchPlant:          "no plant has this id",
	ErrMethodNotAllowed:     "the path does not offer the method",
	ErrPositionGone:         "the position is not valid any more",
	ErrPreconditionFailed:   "the plant does not meet the condition",
	ErrTooManyRequests:      "too many requests",
	ErrInternal:             "an error in the service",
	ErrUnavailable:          "the service is not available",
	ErrNoChanges:            "the store of the service keeps no changes",
}

// Error returns what the code means.
func (c Code) Error() string {
	if text, ok := codeText[c]; ok {
		return text
	}
	return "error " + strconv.Itoa(int(c))
}
