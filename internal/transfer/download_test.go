package transfer_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/transfer"
)

// If the changes end with an error, those before it are written: their positions are
// where the next command continues.
func TestChangesBeforeAnErrorAreWritten(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("after") {
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"error":41000,"message":"gone"}`)
			return
		}
		fmt.Fprint(w, `{"changes":[{"position":"a","id":7}],"position":"a","more":true}`)
	}))
	t.Cleanup(server.Close)
	for _, follow := range []bool{false, true} {
		service, err := transfer.NewService(server.URL, "token")
		must.NoError(t, err)
		var out strings.Builder
		err = transfer.WriteChanges(t.Context(), service, "", follow, &out)
		if _, ok := errors.AsType[transfer.PositionError](err); !ok || out.String() != `{"position":"a","id":7}`+"\n" {
			t.Errorf("follow %v: wrote %q, %v, want the change and a PositionError", follow, &out, err)
		}
	}
}
