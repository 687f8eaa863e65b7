// Stock is the server that oapi-codegen generates, behind its own validator, which
// also checks the credentials.
package main

import (
	"net/http"

	"github.com/plantstore/plantstore/internal/workshop/bench/peer"
	"github.com/plantstore/plantstore/internal/workshop/bench/strictserver"
)

func main() {
	peer.Main(func(plants *peer.Plants) (http.Handler, error) { return strictserver.NewValidated(plants) })
}
