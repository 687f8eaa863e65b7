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

// strangers counts the bad credentials that come from each address.
//
// No limit can make the guessing of a token harder without harm to others: a
// secret has 256 bits, and whoever shares an address with a guesser, behind one
// NAT or proxy, has a good token that must be served. What a flood of bad
// credentials can take is the store's time. A text whose checksum is wrong costs
// none, and an id is asked for at most twice a second; but each made-up id of
// the right form costs one look-up, and enough of them at one time keep every
// connection to the store busy.
//
// So an address beyond its quota becomes a suspect, and this is all that
// changes:
//
//   - its bad credentials are answered 429 in place of 401;
//   - those of its tokens that this process has not seen to be good are looked
//     up one at a time, in the order in which they came
//     ([token.Verifier.VerifyInTurn]).
//
// A good token is thus served always: at once if it has been used lately, else
// after its turn. As a wrong suspicion harms nobody, the rest can be simple.
// The address is the one at the other end of the connection, and no header is
// believed, of a proxy or otherwise: a proxy with one bad client is a suspect,
// and its other clients do not notice. The table has a fixed size and two
// addresses may share a cell. An IPv6 address counts as its /64, which is what
// one host has.
type strangers struct {
	quota quota
	seed  maphash.Seed // so that nobody can choose whose cell to share
	cells [4096]atomic.Int64
	until atomic.Int64 // when every cell is whole again
}

// newStrangers returns nil, which suspects nobody, for the zero Rate.
func newStrangers(r Rate) *strangers {
	if r.Limit == 0 {
		return nil
	}
	return &strangers{quota: newQuota(r), seed: maphash.MakeSeed()}
}

// suspects reports whether a request comes from an address beyond its quota.
// While nobody has bad credentials that is the reading of a clock.
func (s *strangers) suspects(r *http.Request) bool {
	if s == nil {
		return false
	}
	now := s.quota.now()
	if int64(now) >= s.until.Load() {
		return false
	}
	_, ok := s.quota.take(time.Duration(s.cell(r).Load()), now)
	return !ok
}

// failed counts bad credentials. Beyond the quota it returns how they are
// answered instead, and says in the headers for how long.
func (s *strangers) failed(h http.Header, r *http.Request, err error) error {
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
			for until := s.until.Load(); until < int64(whole) && !s.until.CompareAndSwap(until, int64(whole)); {
				until = s.until.Load()
			}
			return err
		}
	}
}

// cell is where the address of a request is counted.
func (s *strangers) cell(r *http.Request) *atomic.Int64 {
	at, _ := netip.ParseAddrPort(r.RemoteAddr) // what has none, a socket of a file, is one address
	addr := at.Addr().Unmap().WithZone("")
	bytes := addr.As16()
	if addr.Is6() {
		clear(bytes[8:])
	}
	return &s.cells[maphash.Bytes(s.seed, bytes[:])%uint64(len(s.cells))]
}
