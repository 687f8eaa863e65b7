package contracttest

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// A base path is wrong where no plain request gets a status of the document. What a path names need not exist, and a
// service that asks for credentials or fails is there.
func TestCheckBase(t *testing.T) {
	t.Parallel()
	whole := strings.ReplaceAll(smallDocument, "/things/{id}", "/things")
	whole = strings.Replace(whole, "{name: id, in: path, required: true", "{name: id, in: query", 1)
	for name, c := range map[string]struct {
		document string
		status   int
		isWrong  bool
	}{
		"a success":                           {whole, 200, false},
		"a refusal of the document":           {whole, 400, false},
		"credentials are asked for":           {whole, 401, false},
		"it fails":                            {whole, 502, false},
		"nothing is found, as documented":     {whole, 404, true},
		"another status":                      {whole, 302, true},
		"what the path names is not found":    {smallDocument, 404, false},
		"no method":                           {smallDocument, 405, true},
		"another status of what a path names": {smallDocument, 302, true},
		"not found in another form":           {strings.Replace(smallDocument, `"404": {description: None.}`, `"404": {description: None., content: {application/json: {}}}`, 1), 404, true},
		"not found, and not documented":       {strings.Replace(smallDocument, `"404"`, `"410"`, 1), 404, true},
	} {
		contract := contractFrom(t, c.document, Options{})
		target := Target{URL: "http://things.example", Transport: faulty{c.status, http.Header{}, ""}}
		if err := contract.CheckBase(t.Context(), target); (err != nil) != c.isWrong {
			t.Errorf("%s: the error is %v, want one: %t", name, err, c.isWrong)
		}
	}
}

// That nothing responds is no matter of the base path.
func TestCheckBaseWithoutResponse(t *testing.T) {
	t.Parallel()
	contract := contractFrom(t, smallDocument, Options{})
	silent := roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("no response") })
	if err := contract.CheckBase(t.Context(), Target{URL: "http://localhost", Transport: silent}); err != nil {
		t.Errorf("the error is %v, want none", err)
	}
}

// The hint has the servers as a client uses them.
func TestCheckBaseNamesServers(t *testing.T) {
	t.Parallel()
	servers := "servers: [{url: '{root}/v1', variables: {root: {default: 'https://things.example'}}}]\npaths:"
	contract := contractFrom(t, strings.Replace(smallDocument, "paths:", servers, 1), Options{})
	err := contract.CheckBase(t.Context(), Target{URL: "http://localhost", Transport: faulty{405, http.Header{}, ""}})
	const want = "The document has the servers https://things.example/v1"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}
