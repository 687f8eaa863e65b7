package httpapi

import (
	"hash/maphash"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
)

var errTooManyFailures = fail(plantapi.CodeTooManyRequests, "too many requests with bad credentials, try again later")

// strangers counts the bad credentials that come from each address. Beyond the
// quota of its address a bad token is answered 429 in place of 401, and nothing
// else changes: a good token is served always, because clients behind one NAT or
// proxy share an address. What a flood of bad tokens can take of the store is
// bounded elsewhere, by [token.Verifier].
//
// The address is the one at the other end of the connection, and no header is
// believed, of a proxy or otherwise. The table has a fixed size and two addresses
// may share a cell. An IPv6 address counts as its /64, which is what one host
// has.
type failedAuthLimiter struct {
	quota quota
	seed  maphash.Seed // so that nobody can choose whose cell to share
	cells [4096]atomic.Int64
}

// newFailedAuthLimiter returns nil, which counts nothing, for the zero Rate.
func newFailedAuthLimiter(r Rate) *failedAuthLimiter {
	if r.Limit == 0 {
		return nil
	}
	return &failedAuthLimiter{quota: newQuota(r), seed: maphash.MakeSeed()}
}

// failed counts bad credentials. Beyond the quota it returns how they are
// answered instead, and says in the headers for how long.
func (s *failedAuthLimiter) failed(h http.Header, r *http.Request, err error) error {
	if s == nil {
		return err
	}
	cell := s.cell(r)
	for {
		now, was := s.quota.now(), cell.Load()
		whole, ok := s.quota.take(time.Duration(was), now)
		if !ok {
			s.quota.refuse(h, whole, now)
			return errTooManyFailures
		}
		if cell.CompareAndSwap(was, int64(whole)) {
			return err
		}
	}
}

// cell is where the address of a request is counted.
func (s *failedAuthLimiter) cell(r *http.Request) *atomic.Int64 {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // what has none, a socket of a file, is one address
	addr := at.Addr().Unmap().WithZone("")
	bytes := addr.As16()
	if addr.Is6() {
		clear(bytes[8:])
	}
	return &s.cells[maphash.Bytes(s.seed, bytes[:])%uint64(len(s.cells))]
}
