package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/api/contracttest"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/shelf"
	"github.com/plantstore/plantstore/internal/testing/shelf/stock"
)

var errNoKey = errors.New("no key, or not the key of the shelf")

// authorize accepts the key of the shelf in the place that the document gives for it.
func authorize(_ http.ResponseWriter, r *http.Request, operation *contract.Operation) (context.Context, error) {
	scheme := operation.Security[0][0]
	if scheme.In != "header" || r.Header.Get(scheme.Key) != shelf.Key {
		return nil, errNoKey
	}
	return nil, nil
}

// anyone is authorized.
func anyone(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
	return nil, nil
}

// refuse responds with the Failure of the document.
func refuse(w http.ResponseWriter, _ *http.Request, refusal *contract.Refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(refusal.Kind.Status())
	_ = json.NewEncoder(w).Encode(map[string]string{"message": refusal.Message})
}

func newChecker(t testing.TB, document []byte, options contract.Options) *contract.Checker {
	t.Helper()
	checker, err := contract.New(document, options)
	must.NoError(t, err)
	return checker
}

// A service whose code knows nothing of package contract keeps each promise of its document behind it.
func TestServiceKeepsItsContract(t *testing.T) {
	checker := newChecker(t, shelf.Document, contract.Options{Authorize: authorize, Refuse: refuse})
	contracttest.Test(t, shelf.Document, stock.Serve(checker.Middleware), contracttest.Options{
		Header: http.Header{"X-Key": {shelf.Key}},
	})
}

// A service in staging tells which of its responses break the document.
func TestJudgeOfContracttest(t *testing.T) {
	document, err := contracttest.New(shelf.Document, contracttest.Options{})
	must.NoError(t, err)
	var faults []string
	judge := document.Judge(func(x contracttest.Interaction, fault contracttest.Fault) {
		faults = append(faults, fmt.Sprintf("%s %s: %s", x.Method, x.Path, fault))
	})
	checker := newChecker(t, shelf.Document, contract.Options{Authorize: authorize, Refuse: refuse, Judge: judge})
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{200, `[{"shelf":"upper","title":"Walden"}]`, "[]"},
		{200, `[{"shelf":"middle","title":"Walden"}]`, "GET /shelves/upper/books: body /0/shelf: enum"},
		{418, `[{"shelf":"upper","title":"Walden"}]`, "418"},
	} {
		faults = nil
		mux := http.NewServeMux()
		mux.Handle("GET /shelves/{shelf}/books", checker.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if c.status != http.StatusOK {
				w.WriteHeader(c.status)
			}
			_, _ = io.WriteString(w, c.answer)
			w.WriteHeader(http.StatusInternalServerError) // too late
		})))
		r := httptest.NewRequest(http.MethodGet, "/shelves/upper/books", nil)
		r.Header.Set("X-Key", shelf.Key)
		mux.ServeHTTP(httptest.NewRecorder(), r)
		if got := fmt.Sprint(faults); !strings.Contains(got, c.want) {
			t.Errorf("the response %d %s has the faults %s, want %s", c.status, c.answer, got, c.want)
		}
	}
}
