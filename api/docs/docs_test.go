package docs_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/docs"
)

func get(t *testing.T, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	request.Header = header
	recorder := httptest.NewRecorder()
	docs.Handler([]byte("openapi: 3.1.0\n")).ServeHTTP(recorder, request)
	return recorder
}

// The page needs nothing but files of the service, which its policy allows, and what they load is about 500 kB.
func TestPage(t *testing.T) {
	page := get(t, "/docs", http.Header{}).Body.String()
	if inline := regexp.MustCompile(`<script[^>]*>[^<]|<style|style="| on\w+="`).FindString(page); inline != "" {
		t.Errorf("the page has %s, which its policy forbids", inline)
	}
	references := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(references) < 4 {
		t.Fatalf("the page has %d references", len(references))
	}
	size := 0
	for _, reference := range references {
		response := get(t, "/"+reference[1], http.Header{"Accept-Encoding": {"gzip"}})
		if response.Code != http.StatusOK || strings.HasPrefix(reference[1], "/") || response.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: status %d", reference[1], response.Code)
		}
		size += response.Body.Len()
	}
	if size < 100_000 || size > 600_000 {
		t.Errorf("the page loads %d bytes", size)
	}
}

// The document is sent as it is, compressed if the client accepts that, and not again if the client has it.
func TestDocument(t *testing.T) {
	plain := get(t, "/openapi.yaml", http.Header{})
	if got := plain.Body.String(); got != "openapi: 3.1.0\n" || plain.Header().Get("Content-Type") != "application/yaml" {
		t.Errorf("the document is %q", got)
	}
	compressed := get(t, "/openapi.yaml", http.Header{"Accept-Encoding": {"gzip"}})
	reader, err := gzip.NewReader(compressed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(reader); err != nil || string(text) != "openapi: 3.1.0\n" {
		t.Errorf("the document is %q, %v", text, err)
	}
	again := get(t, "/openapi.yaml", http.Header{"If-None-Match": {plain.Header().Get("ETag")}})
	if again.Code != http.StatusNotModified {
		t.Errorf("the same version again: status %d", again.Code)
	}
	if unknown := get(t, "/docs/nothing", http.Header{}); unknown.Code != http.StatusNotFound {
		t.Errorf("an unknown file: status %d", unknown.Code)
	}
}
