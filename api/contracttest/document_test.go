package contracttest

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// mutate changes places of a document that data names: it puts another part of the document
// there, or a value of a wrong type.
func mutate(text string, data []byte) string {
	root, err := document.Decode([]byte(text), func(string, ...any) {})
	if err != nil {
		return text
	}
	type place struct {
		set func(any)
		now any
	}
	for change := range slices.Chunk(data, 4) {
		if len(change) < 4 {
			break
		}
		var places []place
		var visit func(node any)
		visit = func(node any) {
			switch node := node.(type) {
			case map[string]any:
				for _, name := range sortedKeys(node) {
					places = append(places, place{func(v any) { node[name] = v }, node[name]})
					visit(node[name])
				}
			case []any:
				for i := range node {
					places = append(places, place{func(v any) { node[i] = v }, node[i]})
					visit(node[i])
				}
			}
		}
		visit(root)
		if len(places) == 0 || len(places) > 5000 {
			break
		}
		odd := []any{
			nil, true, "", "null", json.Number("-1"), json.Number("1e300"), json.Number("99999999999"),
			[]any{},
			map[string]any{},
			[]any{nil},
			"array", "object", "integer",
			map[string]any{"$ref": "#/components/schemas/Thing"},
			map[string]any{"$ref": "#/paths"},
			"{", "%zz", "application/json",
		}
		value := odd[int(change[2])%len(odd)]
		if change[3]%2 == 0 {
			copied, _ := json.Marshal(places[(int(change[2])<<8+int(change[3]))%len(places)].now)
			dec := json.NewDecoder(strings.NewReader(string(copied)))
			dec.UseNumber()
			_ = dec.Decode(&value)
		}
		places[(int(change[0])<<8+int(change[1]))%len(places)].set(value)
	}
	changed, _ := json.Marshal(root)
	return string(changed)
}

// oddService responds with one body after the other.
type oddService struct{ turn int }

func (s *oddService) RoundTrip(r *http.Request) (*http.Response, error) {
	s.turn++
	bodies := []string{`{}`, `{"id":1,"items":[{"id":1}]}`, `[]`, `null`, ``, `"text"`, `{"kind":"thing"}`}
	resp := &http.Response{StatusCode: []int{200, 201, 404, 400, 304, 500}[s.turn%6], Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	resp.Header.Set("Location", "/things/1")
	resp.Body = io.NopCloser(strings.NewReader(bodies[s.turn%len(bodies)]))
	return resp, nil
}

// survives fails if the package panics on a document, or on a service of it.
func survives(t *testing.T, text string) {
	c, err := New([]byte(text), Options{Service: Service{Rules: Rules{StrictJSON: true, StrictParameters: true, StrictMediaTypes: true, Head: true, Options: true}}})
	if err != nil {
		return
	}
	tests := testsOf(c)
	service := &oddService{}
	for _, test := range tests[:min(len(tests), 150)] {
		attempt(test, Target{URL: "http://service.invalid", Transport: service, Credentials: Credentials{"token": "x", "apiKey": "x"}})
	}
	must.NoError(t, c.Report().Text(io.Discard))
}

func documents(tb testing.TB) []string {
	all := []string{smallDocument}
	for _, name := range []string{"testdata/comments.yaml", "testdata/shipping.yaml", "internal/document/testdata/modern.yaml"} {
		text, err := os.ReadFile(name)
		must.NoError(tb, err)
		all = append(all, string(text))
	}
	return all
}

// No document makes the package panic. The fuzzer finds more: go test -fuzz FuzzDocument
func TestOddDocuments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	all := documents(t)
	changed := 12
	if testing.Short() {
		changed = len(all)
	}
	for i := range changed {
		data := make([]byte, 4*(1+i%6))
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		survives(t, mutate(all[i%len(all)], data))
	}
}

func FuzzDocument(f *testing.F) {
	all := documents(f)
	for i := range all {
		f.Add(uint8(i), []byte{})
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		survives(t, mutate(all[int(which)%len(all)], data[:min(len(data), 40)]))
	})
}

func sortedKeys(m map[string]any) []string {
	names := []string{}
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
