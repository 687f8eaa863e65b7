package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What tests, options and reports speak of. Package scenario explains each of them.
type (
	Interaction = scenario.Interaction
	Event       = scenario.Event
	Fault       = scenario.Fault
	Failure     = scenario.Failure
	Kind        = scenario.Kind
	Violation   = scenario.Violation
	Operation   = scenario.Operation
	Undeclared  = scenario.Undeclared
	Rules       = scenario.Rules
	Resource    = scenario.Resource
	List        = scenario.List
	Credentials = scenario.Credentials
)

// What becomes of what a response has and the document does not name.
const (
	Ignore = scenario.Ignore
	Exact  = scenario.Exact
)

// The kinds of violations, in the order in which a service usually checks them.
const (
	UnknownPath        = scenario.UnknownPath
	UnknownMethod      = scenario.UnknownMethod
	NoCredentials      = scenario.NoCredentials
	BadCredentials     = scenario.BadCredentials
	MissingScope       = scenario.MissingScope
	InvalidParameter   = scenario.InvalidParameter
	MissingBody        = scenario.MissingBody
	WrongMediaType     = scenario.WrongMediaType
	MalformedBody      = scenario.MalformedBody
	InvalidBody        = scenario.InvalidBody
	UnknownPosition    = scenario.UnknownPosition
	UnknownResource    = scenario.UnknownResource
	PreconditionFailed = scenario.PreconditionFailed
	Conflict           = scenario.Conflict
)
