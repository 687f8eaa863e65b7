// Strict is the server that oapi-codegen generates, with a bearer check and
// nothing that validates.
package main

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/plantstore/plantstore/internal/workshop/bench/peer"
	"github.com/plantstore/plantstore/internal/workshop/bench/strictserver"
)

func main() {
	peer.Main(func(plants *peer.Plants) (http.Handler, error) {
		return strictserver.New(plants, authenticated), nil
	})
}

func authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(token), []byte(peer.Token)) != 1 {
			http.Error(w, "credentials not valid", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
