//go:build recall

package contracttest_test

import (
	"flag"
	"fmt"
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest"
)

// These tests serve one wrong server of this package until they are killed, so that make recall can hold tools
// against it that are not tests of Go. They are compiled for it alone, and take what the servers of
// internal/workshop/recall take.
var (
	recallPort  = flag.Int("port", 0, "of 127.0.0.1")
	recallFault = flag.String("fault", "", "what is wrong with the server; nothing if it is empty")
	recallList  = flag.Bool("list", false, "print the faults")
)

func TestServeWorkshop(t *testing.T) {
	if *recallList {
		for _, flaw := range contracttest.Flaws {
			fmt.Printf("workshop: what is stored and listed\t%s\t%s\n", flaw, flaw)
		}
		return
	}
	serve(t, contracttest.NewWorkshop(*recallFault))
}

func TestServeHelpdesk(t *testing.T) {
	if *recallList {
		for _, one := range strangers {
			fmt.Printf("helpdesk: state, validation, responses\t%s\t%s\n", one.mistake, one.breaks)
		}
		return
	}
	serve(t, newHelpdesk(mistake(*recallFault)))
}

func serve(t *testing.T, handler http.Handler) {
	t.Helper()
	t.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *recallPort), handler))
}
