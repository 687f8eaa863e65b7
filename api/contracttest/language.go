package contracttest

import (
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// What tests and options speak of. Package scenario explains each of them.
type (
	Interaction = scenario.Interaction
	Event       = scenario.Event
	Fault       = scenario.Fault
	Judged      = scenario.Judged
	Failure     = scenario.Failure
	Outcome     = scenario.Outcome
	Kind        = scenario.Kind
	Violation   = scenario.Violation
	Operation   = scenario.Operation
	Rules       = scenario.Rules
	Resource    = scenario.Resource
	List        = scenario.List
	Credentials = scenario.Credentials
	// A Sequence is a test of several requests.
	Sequence = scenario.Test
)

// What tests have shown. Package report explains each of them.
type (
	Report   = report.Report
	Progress = report.Progress
	Count    = report.Count
	Promise  = report.Promise
	State    = report.State
	Cause    = report.Cause
	Place    = report.Place
)

// What has become of a promise.
const (
	Kept      = report.Kept
	Broken    = report.Broken
	NotTested = report.NotTested
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
