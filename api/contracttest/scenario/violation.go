package scenario

import "slices"

// Kind is the reason for which a request is refused.
type Kind string

// The kinds of violations, in the order in which a service usually checks them.
const (
	UnknownPath        Kind = "unknown path"
	UnknownMethod      Kind = "unknown method"
	NoCredentials      Kind = "no credentials"
	BadCredentials     Kind = "bad credentials"
	MissingScope       Kind = "missing scope"
	InvalidParameter   Kind = "invalid parameter"
	MissingBody        Kind = "missing body"
	WrongMediaType     Kind = "wrong media type"
	MalformedBody      Kind = "malformed body"
	InvalidBody        Kind = "invalid body"
	UnknownPosition    Kind = "unknown position"
	UnknownResource    Kind = "unknown resource"
	PreconditionFailed Kind = "precondition failed"
	Conflict           Kind = "conflict"
)

// statuses are the statuses that RFC 9110 has for a violation.
var statuses = map[Kind][]int{
	UnknownPath:        {404},
	UnknownMethod:      {405, 501},
	NoCredentials:      {401, 403},
	BadCredentials:     {401, 403},
	MissingScope:       {403},
	InvalidParameter:   {400, 404, 422},
	MissingBody:        {400, 411, 415, 422},
	WrongMediaType:     {400, 415, 422},
	MalformedBody:      {400, 422},
	InvalidBody:        {400, 422},
	UnknownPosition:    {410},
	UnknownResource:    {404, 410},
	PreconditionFailed: {412},
	Conflict:           {400, 409, 422},
}

// Violation is what is wrong with a request.
type Violation struct {
	Kind Kind
	// "body", "query", "path", "header", "cookie"; empty: nowhere in particular.
	In string
	// A JSON Pointer into the body, or a slash and the name of the parameter.
	Pointer string
}

// Statuses are those with which a service may refuse the request. The first one is the usual one.
func (v Violation) Statuses() []int { return statuses[v.Kind] }

// Allows reports whether a service may refuse the request with a status.
func (v Violation) Allows(status int) bool { return slices.Contains(statuses[v.Kind], status) }

// IsOfCredentials reports whether the request lacks something that opens the operation.
func (v Violation) IsOfCredentials() bool {
	return slices.Contains([]Kind{NoCredentials, BadCredentials, MissingScope}, v.Kind)
}
