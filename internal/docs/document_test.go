package docs

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v4"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// forms are the media types of the document by path.
var forms = map[string]string{"/openapi.yaml": "application/yaml", "/openapi.json": "application/json"}

// handlers returns the handlers for a base URL, which may be empty.
func handlers(t *testing.T, baseURL string) map[string]http.Handler {
	t.Helper()
	var base *url.URL
	if baseURL != "" {
		u, err := ParseBaseURL(baseURL)
		must.NoError(t, err)
		base = u
	}
	all, err := Handlers(api.Document, base)
	must.NoError(t, err)
	return all
}

// get sends a GET request to a handler. change, if not nil, changes the request
// before.
func get(h http.Handler, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(http.MethodGet, "http://plants.example/", nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	var b bytes.Buffer
	_, err := b.ReadFrom(resp.Body)
	must.NoError(t, err)
	return b.String()
}

func withHost(host string) func(*http.Request) {
	return func(r *http.Request) { r.Host = host }
}

// The document has the address of the setting, or the one that the request was
// sent to.
func TestServerAddressInDocument(t *testing.T) {
	for name, c := range map[string]struct {
		baseURL string
		change  func(*http.Request)
		want    string
	}{
		"the request's host":          {"", nil, "http://plants.example"},
		"its port":                    {"", withHost("plants.example:81"), "http://plants.example:81"},
		"an IPv6 address":             {"", withHost("[::1]:8080"), "http://[::1]:8080"},
		"in lower case":               {"", withHost("Plants.EXAMPLE"), "http://plants.example"},
		"TLS":                         {"", func(r *http.Request) { r.TLS = &tls.ConnectionState{} }, "https://plants.example"},
		"a setting":                   {"https://example.org/store", nil, "https://example.org/store"},
		"X-Forwarded-Host is ignored": {"", func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "evil.example") }, "http://plants.example"},
	} {
		hs := handlers(t, c.baseURL)
		for path, mediaType := range forms {
			resp := get(hs[path], c.change)
			doc, err := openapi3.NewLoader().LoadFromData([]byte(body(t, resp)))
			must.NoError(t, err)
			if got := doc.Servers[0].Variables["base_url"].Default; got != c.want {
				t.Errorf("%s: %s says %s, want %s", name, path, got, c.want)
			}
			if got := resp.Header.Get("Content-Type"); got != mediaType {
				t.Errorf("%s is %s, want %s", path, got, mediaType)
			}
			if got := resp.Header.Get("Cache-Control"); got != "no-cache" {
				t.Errorf("%s has Cache-Control %q", path, got)
			}
			if got := resp.Header.Get("Vary"); (got == "Host") != (c.baseURL == "") {
				t.Errorf("%s: %s has Vary %q", name, path, got)
			}
		}
	}
}

// An invalid host does not get into the document.
func TestInvalidHosts(t *testing.T) {
	hs := handlers(t, "")
	for _, host := range []string{
		"", `x"`, `x", "evil": "y`, "x\nevil: y", "x\r\nevil: y", "x' #", "x\u2028", "x/y", "x?y", "x@y", "x:y", "x:1:2", "[::1", "[x]",
		"x\x00", "b\u00fccher.example", "${jndi:x}", "<script>", "x%22", strings.Repeat("x", 10_000), strings.Repeat("x", 254), "[:]", "x:" + strings.Repeat("1", 10_000),
	} {
		for path := range forms {
			resp := get(hs[path], withHost(host))
			text := body(t, resp)
			if want := body(t, get(hs[path], withHost("127.0.0.1:8080"))); text != want {
				t.Errorf("%s for the host %.20q differs from the one in the repository", path, host)
			}
		}
	}
}

// The YAML is the file of the repository, with its comments and its order. Only
// the address differs.
func TestYAMLIsTheFile(t *testing.T) {
	got := body(t, get(handlers(t, "https://example.org/store")["/openapi.yaml"], nil))
	want := strings.Replace(string(api.Document), `"http://127.0.0.1:8080"`, `"https://example.org/store"`, 1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := body(t, get(handlers(t, "http://127.0.0.1:8080")["/openapi.yaml"], nil)); got != string(api.Document) {
		t.Error("with the address of the file, the YAML differs from the file")
	}
}

// The JSON has the same content as the YAML, in the same order.
func TestJSONIsTheYAML(t *testing.T) {
	hs := handlers(t, "")
	fromYAML, fromJSON := body(t, get(hs["/openapi.yaml"], nil)), body(t, get(hs["/openapi.json"], nil))
	var want, got any
	must.NoError(t, yaml.Unmarshal([]byte(fromYAML), &want))
	must.NoError(t, json.Unmarshal([]byte(fromJSON), &got))
	again, err := json.Marshal(want) // so that both have the same type of number
	must.NoError(t, err)
	must.NoError(t, json.Unmarshal(again, &want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON has other content (-yaml +json):\n%s", diff)
	}
	var inYAML, inJSON yaml.Node // JSON is YAML
	must.NoError(t, yaml.Unmarshal([]byte(fromYAML), &inYAML))
	must.NoError(t, yaml.Unmarshal([]byte(fromJSON), &inJSON))
	if diff := cmp.Diff(names(&inYAML), names(&inJSON)); diff != "" {
		t.Errorf("JSON has another order (-yaml +json):\n%s", diff)
	}
}

// names lists the names of all objects, in order.
func names(n *yaml.Node) (all []string) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			all = append(all, child.Value)
		}
		all = append(all, names(child)...)
	}
	return all
}

// A client that has the document gets a 304. All servers of one address send the
// same bytes and ETag.
func TestETag(t *testing.T) {
	one, other := handlers(t, ""), handlers(t, "http://plants.example")
	for path := range forms {
		resp := get(one[path], nil)
		etag := resp.Header.Get("ETag")
		if len(etag) < 10 || etag[0] != '"' {
			t.Fatalf("%s has ETag %s, want a strong one", path, etag)
		}
		same := get(other[path], nil)
		if same.Header.Get("ETag") != etag || body(t, same) != body(t, resp) {
			t.Errorf("%s differs on another server with the same address", path)
		}
		if got := get(one[path], withHost("other.example")).Header.Get("ETag"); got == etag {
			t.Errorf("%s has ETag %s for another address as well", path, etag)
		}
		known := get(one[path], func(r *http.Request) { r.Header.Set("If-None-Match", etag) })
		if h := known.Header; known.StatusCode != 304 || h.Get("ETag") != etag || h.Get("Cache-Control") == "" || h.Get("Vary") == "" {
			t.Errorf("%s with its ETag is %s, and lacks headers of its 200: %v", path, known.Status, h)
		}
	}
	if one, other := get(one["/openapi.yaml"], nil).Header.Get("ETag"), get(one["/openapi.json"], nil).Header.Get("ETag"); one == other {
		t.Error("YAML and JSON have the same ETag")
	}
}

// Handlers fails for a document that does not contain the address exactly once.
func TestDocumentWithoutAddress(t *testing.T) {
	for _, text := range []string{"a: b", `a: "http://127.0.0.1:8080"` + "\n" + `b: "http://127.0.0.1:8080"`, "a: http://127.0.0.1:8080"} {
		if _, err := Handlers([]byte(text), nil); err == nil {
			t.Errorf("Handlers(%q) does not fail", text)
		}
	}
}
