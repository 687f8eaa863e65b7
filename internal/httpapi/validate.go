package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/limit"
	"github.com/plantstore/plantstore/internal/token"
)

// validator checks every request against the document before the generated code
// gets it.
type validator struct {
	*Options
	operations operations
	failures   failures
	failedAuth *limit.Rates[netip.Prefix]
	rateLimit  *limit.Rates[string] // by the id of a token
	deadlines  *deadlines

	// A request has a slot while the service works for it: from its authorization until its
	// response is made, but not while its body comes. A request without a slot is refused at
	// once, because a queue would only delay its refusal. Requests that wait for changes hold
	// little, for a long time; they have slots of their own.
	admitted, streams *limit.Slots

	memory
}

// validate passes on only requests that the document allows. It runs after chi has
// found the operation, so r.Pattern is the path in the document.
func (v validator) validate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := v.operations[operationKey{documented(r.Method), r.Pattern}]
		rec := recorderOf(w)
		rec.operation, rec.unread = op, v.unread
		// A write never ends with its client. A read ends earlier only if the client resets its
		// HTTP/2 stream: with HTTP/1, net/http also cancels the context of a client that closes
		// its sending half of the connection and still reads.
		rec.ctx = v.deadlines.context()
		if r.ProtoMajor >= 2 && op.scope == token.Read {
			ctx, cancel := context.WithTimeout(r.Context(), requestDeadline)
			defer cancel()
			rec.ctx = ctx
		}
		defer rec.release()
		if err := v.admit(rec.ctx, w, r, op); err != nil {
			v.failures.write(w, r, err)
			return
		}
		if len(op.bodies) > 0 {
			rec.slot.Release()
			err := v.checkBody(w, r, op)
			if err == nil {
				rec.slot, err = v.admitted.Take()
			}
			if err != nil {
				v.failures.write(w, r, err)
				return
			}
		}
		if rec.waits() {
			ctx, end := v.waiting(w, r)
			defer end()
			rec.ctx = ctx
		}
		next.ServeHTTP(w, r)
	})
}

// documented returns the method that the document has for a method: GET for HEAD.
func documented(method string) string {
	if method == http.MethodHead {
		return http.MethodGet
	}
	return method
}

// requestDeadline is how long a request may take until its response is ready to be
// written, less a second at most. It is shorter than the drain of a shutdown.
const requestDeadline = 20 * time.Second

// deadlines makes the contexts of requests. Those that begin in the same second share one:
// with a context and a timer for each, a POST takes 22 % more CPU in the handler (6.6
// instead of 5.4 µs, BenchmarkHandler) and six more allocations.
type deadlines struct {
	newest atomic.Pointer[context.Context]
}

// context returns a context that ends at the deadline of a request that begins now.
func (d *deadlines) context() context.Context {
	if newest := d.newest.Load(); newest != nil {
		if end, _ := (*newest).Deadline(); time.Until(end) > requestDeadline-time.Second {
			return *newest
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestDeadline)
	_ = cancel           // never called: some request may still use the context
	d.newest.Store(&ctx) // requests that begin at the same time may make one each
	return ctx
}

// admit checks the credentials, the limits on rate and capacity, and the parameters, in
// the order of the document. Nothing of the body is read before the request is admitted,
// so clients without a token cost no memory. An admitted request has a slot.
func (v validator) admit(ctx context.Context, w http.ResponseWriter, r *http.Request, op *operation) error {
	t, err := v.authenticate(ctx, w.Header(), r)
	if err != nil {
		return err
	}
	recorderOf(w).token = cmp.Or(t.ID, t.Name)
	if !t.Allows(op.scope) {
		return lacksScope(op.scope)
	}
	// Only authorized requests count, so there are never more limiters than tokens, and no
	// client uses up the limit of another.
	quota := v.rateLimit.Use(t.ID)
	quota.Describe(w.Header())
	if quota.Refused {
		return errTooManyRequests
	}
	if v.ReadOnly && op.scope == token.Write {
		return errReadOnly
	}
	rec := recorderOf(w)
	if op.waits {
		rec.slot, err = v.streams.TakeShare(rec.token)
	} else {
		rec.slot, err = v.admitted.Take()
	}
	if err != nil {
		return err
	}
	return checkParameters(r, op)
}

// challenge begins every WWW-Authenticate header (RFC 6750, section 3).
const challenge = `Bearer realm="plantstore"`

var (
	// errNoCredentials has no error in its challenge, as RFC 6750, section 3.1,
	// requires for a request without credentials.
	errNoCredentials = &failure{
		code:      plantapi.CodeNoCredentials,
		message:   `no credentials: send the header "Authorization: Bearer <token>"`,
		challenge: challenge,
	}
	errBadCredentials = &failure{
		code:      plantapi.CodeBadCredentials,
		message:   token.ErrInvalid.Error(),
		challenge: challenge + `, error="invalid_token"`,
	}
)

func lacksScope(s token.Scope) *failure {
	return &failure{
		code:      plantapi.CodeInsufficientScope,
		message:   fmt.Sprintf("the token lacks the scope %q", s),
		challenge: fmt.Sprintf(`%s, error="insufficient_scope", scope="%s"`, challenge, s),
	}
}

var (
	errTooManyRequests = fail(plantapi.CodeTooManyRequests, "too many requests with this token, try again later")
	errTooManyFailures = fail(plantapi.CodeTooManyRequests, "too many requests with bad credentials, try again later")
)

// authenticate returns the token of a request, or why it has no valid one. h are
// the headers of the response. Beyond the limit of failed authentications the response
// to bad credentials is 429 instead of 401, and nothing else changes: valid credentials
// are accepted always, because clients behind one NAT or proxy share an address.
// [token.Verifier] bounds the reads of the store.
func (v validator) authenticate(ctx context.Context, h http.Header, r *http.Request) (token.Token, error) {
	t, err := v.verify(ctx, r)
	if err == errBadCredentials || errors.Is(err, token.ErrInvalid) {
		if quota := v.failedAuth.Use(addressOf(r)); quota.Refused {
			quota.Describe(h)
			err = errTooManyFailures
		}
	}
	return t, err
}

// maxAddresses bounds the memory that a flood of bad credentials takes: about
// 200 bytes for each address. A flood from more addresses makes the service
// forget some of them, and respond to their bad credentials with 401 again.
const maxAddresses = 16 << 10

// addressOf is the address that a connection comes from; no header is trusted.
// An IPv6 address is its /64, because one host has that many. All connections
// without an IP address, as of a Unix socket, have the zero Prefix.
func addressOf(r *http.Request) netip.Prefix {
	remote, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := remote.Addr().Unmap()
	prefix, _ := addr.Prefix(min(addr.BitLen(), 64))
	return prefix
}

func (v validator) verify(ctx context.Context, r *http.Request) (token.Token, error) {
	text, err := bearer(r.Header["Authorization"])
	if err != nil {
		return token.Token{}, err
	}
	return v.Tokens.Verify(ctx, text)
}

// bearer returns the token in the Authorization header. Two such headers are
// refused, because servers and proxies disagree about which one counts.
func bearer(headers []string) (string, error) {
	if len(headers) == 0 {
		return "", errNoCredentials
	}
	if len(headers) > 1 {
		return "", errBadCredentials
	}
	scheme, text := headers[0], ""
	if i := strings.IndexAny(scheme, " \t,"); i >= 0 {
		scheme, text = scheme[:i], scheme[i:]
	}
	if !strings.EqualFold(scheme, "Bearer") {
		return "", errNoCredentials // none of a known scheme
	}
	// RFC 9110, section 11.4, allows any number of spaces and nothing else.
	return strings.TrimLeft(text, " "), nil
}
