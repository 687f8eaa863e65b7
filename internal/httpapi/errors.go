package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/limit"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/token"
)

// failure is an error with the content of its response.
type failure struct {
	code      plantapi.ErrorCode // code / 100 is the status
	message   string
	details   []plantapi.ErrorDetail // at most maxDetails
	challenge string                 // WWW-Authenticate, with 401 and 403
	retry     string                 // Retry-After, with 50300; empty: retryAfter
}

func (f *failure) Error() string { return f.message }

func fail(code plantapi.ErrorCode, message string) *failure {
	return &failure{code: code, message: message}
}

// codes has the number of each kind of refusal but NotAuthorized and NotRead: these always have an Err, which
// has its number.
var codes = map[contract.Kind]plantapi.ErrorCode{
	contract.NoOperation:          plantapi.CodeNoSuchPath,
	contract.MethodNotAllowed:     plantapi.CodeMethodNotAllowed,
	contract.InvalidParameter:     plantapi.CodeInvalidParameter,
	contract.MissingBody:          plantapi.CodeMissingBody,
	contract.UnsupportedMediaType: plantapi.CodeUnsupportedMediaType,
	contract.TooLarge:             plantapi.CodeBodyTooLarge,
	contract.Incomplete:           plantapi.CodeIncompleteBody,
	contract.MalformedBody:        plantapi.CodeMalformedBody,
	contract.InvalidBody:          plantapi.CodeInvalidBody,
}

// refuse implements [contract.Options.Refuse].
func (fs failures) refuse(w http.ResponseWriter, r *http.Request, refusal *contract.Refusal) {
	if scope := &recorderOf(w).scope; scope.Context != nil {
		r = r.WithContext(scope) // so that write does not take a client that only closes its sending half for gone
	}
	if refusal.Err != nil { // of admission or bodies
		fs.write(w, r, refusal.Err)
		return
	}
	refused := fail(codes[refusal.Kind], refusal.Message)
	for _, fault := range refusal.Faults {
		refused.details = append(refused.details, plantapi.ErrorDetail{
			In: plantapi.ErrorDetailIn(fault.In), Pointer: fault.Pointer, Message: fault.Message,
		})
	}
	fs.write(w, r, refused)
}

// invalidParameters returns the failure of a request whose parameters have these faults.
func invalidParameters(details ...plantapi.ErrorDetail) *failure {
	sentences := make([]string, len(details))
	for i, detail := range details {
		sentences[i] = string(detail.In) + " " + detail.Pointer + " " + detail.Message
	}
	message := "a parameter is not valid: " + strings.Join(sentences, "; ")
	return &failure{code: plantapi.CodeInvalidParameter, message: message, details: details}
}

// maxDetails is the largest number of details in a response, as in the document.
const maxDetails = 32

// retryAfter is the number of seconds after which a client may try again.
const retryAfter = "1"

// retryWrite is retryAfter for a write to a read-only service, which stays so for
// minutes. A client loses at most these seconds after it accepts writes again.
const retryWrite = "5"

// domainFailures has the response to each error of the domain. The response to every
// other error is 50000.
var domainFailures = []struct {
	err     error
	failure *failure
}{
	{plant.ErrExists, idTaken("belongs to another plant", "/id")},
	{plant.ErrNotFound, fail(plantapi.CodeNoSuchPlant, plant.ErrNotFound.Error())},
	{plant.ErrPosition, fail(plantapi.CodePositionGone, plant.ErrPosition.Error())},
	{plant.ErrNoChanges, fail(plantapi.CodeNoChanges, plant.ErrNoChanges.Error())},
	{plant.ErrPrecondition, fail(plantapi.CodePreconditionFailed, plant.ErrPrecondition.Error())},
	{plant.ErrDiskFull, errDiskFull}, // before ErrUnavailable, which these are, too
	{plant.ErrOtherUnicode, fail(plantapi.CodeUnavailable, plant.ErrOtherUnicode.Error())},
	{plant.ErrUnavailable, errUnavailable},
	{token.ErrInvalid, errBadCredentials},
	{token.ErrUnavailable, errUnavailable},
	{limit.ErrFull, errUnavailable},
	{context.DeadlineExceeded, errUnavailable}, // the queue of the store is too long
	{context.Canceled, errUnavailable},         // canceled by the store; see failures.write
}

var (
	errInternal    = fail(plantapi.CodeInternal, "internal error")
	errUnavailable = fail(plantapi.CodeUnavailable, "not available, try again later")
	errDiskFull    = fail(plantapi.CodeUnavailable, "the disk of the store is full, try again later")
	errReadOnly    = &failure{
		code:    plantapi.CodeUnavailable,
		message: "the service is read-only for now: nothing was changed, try again later",
		retry:   retryWrite,
	}
)

// idTaken returns the failure for the plants whose ids, at the pointers, are taken.
func idTaken(message string, pointers ...string) *failure {
	f := &failure{code: plantapi.CodeIDTaken, message: plant.ErrExists.Error()}
	for _, pointer := range pointers[:min(len(pointers), maxDetails)] {
		f.details = append(f.details, plantapi.ErrorDetail{In: plantapi.InBody, Pointer: pointer, Message: message})
	}
	return f
}

// failureOf returns the failure for an error.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	for _, known := range domainFailures {
		if errors.Is(err, known.err) {
			return known.failure
		}
	}
	return errInternal
}

// failures writes all error responses.
type failures struct {
	counts *counts
}

// write responds to a request with an error. The response contains only what is in
// the failure; the log has the whole error of a 5xx.
func (fs failures) write(w http.ResponseWriter, r *http.Request, err error) {
	recorder := recorderOf(w)
	hasGone := errors.Is(err, context.Canceled) && r.Context().Err() == context.Canceled
	if recorder.begun() || hasGone {
		// Either the response has begun and cannot be replaced, or the client has gone: setContext says
		// which work ends with its client. The log says that the response was cut short.
		recorder.cut = err
		return
	}
	response := failureOf(err)
	fs.note(&recorder.scope, response.code, err)
	status := int(response.code) / 100
	body := plantapi.Error{Error: int32(response.code), Message: response.message}
	if len(response.details) > 0 {
		body.Details = &response.details
	}
	header := w.Header()
	if response.challenge != "" {
		header.Set("WWW-Authenticate", response.challenge)
	}
	if response.code == plantapi.CodeUnavailable {
		header.Set("Retry-After", cmp.Or(response.retry, retryAfter))
	}
	if response.code == plantapi.CodeIncompleteBody {
		header.Set("Connection", "close") // the rest of the body is not a request
	}
	if status >= 500 {
		body.RequestID = new(recorder.scope.requestID[0])
	}
	_ = writeJSON(w, status, &body) // the client may have gone
}

// note counts a failure, and records it for the log.
func (fs failures) note(scope *scope, code plantapi.ErrorCode, err error) {
	scope.code, scope.err = code, err
	fs.counts.failures[code].Inc()
}
