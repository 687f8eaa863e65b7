package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/gen/client"
	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/internal/httpapi"
)

// The generated client walks all books, page by page.
func TestPages(t *testing.T) {
	server := httptest.NewServer(newHandler(t))
	defer server.Close()
	books, err := client.NewClientWithResponses(server.URL, client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+secret)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		book := client.Book{Isbn: fmt.Sprintf("978014044%04d", i), Title: "Walden"}
		if created, err := books.CreateBookWithResponse(t.Context(), book); err != nil || created.JSON201 == nil {
			t.Fatalf("create: %v, %v", created, err)
		}
	}
	var found []string
	params := client.ListBooksParams{Limit: new(int32(3))}
	for {
		page, err := books.ListBooksWithResponse(t.Context(), &params)
		if err != nil || page.JSON200 == nil {
			t.Fatalf("list: %v, %v", page, err)
		}
		for _, book := range page.JSON200.Books {
			found = append(found, book.Isbn[9:])
		}
		if params.Cursor = page.JSON200.Next; params.Cursor == nil {
			break
		}
	}
	if got, want := strings.Join(found, " "), "0000 0001 0002 0003 0004 0005 0006"; got != want {
		t.Errorf("the pages have %s, want %s", got, want)
	}
}

// The document asks for credentials, so a service that accepts none does not start.
func TestNoTokens(t *testing.T) {
	_, err := httpapi.New(nil, httpapi.Options{Tokens: &httpapi.Tokens{}})
	if err == nil || !strings.Contains(err.Error(), "set BOOKSHELF_TOKEN or BOOKSHELF_KEYS_URL") {
		t.Errorf("the error is %v", err)
	}
}
