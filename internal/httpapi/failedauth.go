package httpapi

import (
	"net/http"
	"net/netip"

	"github.com/plantstore/plantstore/gen/plantapi"
)

var errTooManyFailures = fail(plantapi.CodeTooManyRequests, "too many requests with bad credentials, try again later")

// maxAddresses bounds the memory that a flood of bad credentials takes: about
// 200 bytes for each address. A flood from more addresses makes the service
// forget some of them, and respond to their bad credentials with 401 again.
const maxAddresses = 16 << 10

// newFailedAuthLimiters limits how often each address may send bad credentials.
// Beyond the limit the response to them is 429 instead of 401, and nothing else
// changes: valid credentials are accepted always, because clients behind one NAT
// or proxy share an address. [token.Verifier] bounds the reads of the store.
func newFailedAuthLimiters(r Rate) *limiters[netip.Prefix] {
	return newLimiters[netip.Prefix](r, maxAddresses)
}

// addressOf is the address that a connection comes from; no header is trusted.
// An IPv6 address is its /64, because one host has that many. All connections
// without an IP address, as of a Unix socket, have the zero Prefix.
func addressOf(r *http.Request) netip.Prefix {
	remote, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := remote.Addr().Unmap()
	prefix, _ := addr.Prefix(min(addr.BitLen(), 64))
	return prefix
}
