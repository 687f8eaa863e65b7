// Package operations implements the operations of the document. Those that are not written yet return
// [httpapi.ErrNotWritten], and the contract test lists them.
package operations

import (
	"context"
)

// Statuses is the table of errors: the status that a response has for an error of an operation. Its
// message is that of the error here. Any other error is 500, and only the log has its message.
var Statuses = map[error]int{}

// Service has an exported method for each operation of the document.
type Service struct{}

// Open opens what the operations need, such as a store at a path.
func Open(_ context.Context, _ string) (Service, error) { return Service{}, nil }

// Healthy returns an error if the operations cannot work.
func (Service) Healthy(context.Context) error { return nil }

// Close closes what Open has opened.
func (Service) Close() error { return nil }
