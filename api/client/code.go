package client

import "strconv"

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
	ErrIDTaken              Code = 40010 // another plant has this id; nothing changed
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
