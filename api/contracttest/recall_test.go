//go:build recall

package contracttest

import (
	"net/http"
	"os"
)

// Flaws and NewWorkshop let recallservers_test.go serve the wrong servers of this package.
var Flaws = flaws

// NewWorkshop returns a server with a flaw, or without one.
func NewWorkshop(flaw string) http.Handler {
	document, err := os.ReadFile("testdata/workshop.yaml")
	if err != nil {
		panic(err)
	}
	contract, err := New(document, Options{})
	if err != nil {
		panic(err)
	}
	return newWorkshop(contract, flaw)
}
