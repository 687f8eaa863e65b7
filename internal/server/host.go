package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guardHost protects a listener that is bound to a loopback address from DNS
// rebinding: a web page makes the name of its own host resolve to 127.0.0.1, and
// its scripts then read the response. Such a request has that name as its Host,
// so only localhost and IP addresses are accepted. For any other listener
// guardHost returns handler: its clients may use any name.
func guardHost(listening net.Addr, handler http.Handler) http.Handler {
	if addr, ok := listening.(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			say(w, http.StatusForbidden, "the Host header must be localhost or an IP address")
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// isLocal reports whether the value of a Host header is one that no DNS server
// chooses the address for. No browser leaves it out; HTTP/1.0 clients may.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	_, err := netip.ParseAddr(host)
	return err == nil || host == "" || strings.EqualFold(host, "localhost")
}
