package httpapi_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/plantstore/plantstore/cmd/specfirst/bookshelf/gen/client"
)

// The generated client walks all books, page by page, and finds them as they were created.
func TestBooks(t *testing.T) {
	service := newClient(t)
	var created, found []client.Book
	for i := range 7 {
		book := client.Book{Isbn: fmt.Sprintf("%010d", i), Title: "a title", Author: new("an author"), Year: new(int64(7))}
		response, err := service.CreateBookWithResponse(t.Context(), book)
		if err != nil || response.JSON201 == nil {
			t.Fatalf("create: %v, %v", response, err)
		}
		created = append(created, book)
	}
	params := client.ListBooksParams{Limit: new(int32(3))}
	for {
		page, err := service.ListBooksWithResponse(t.Context(), &params)
		if err != nil || page.JSON200 == nil {
			t.Fatalf("list: %v, %v", page, err)
		}
		found = append(found, page.JSON200.Books...)
		if params.Cursor = page.JSON200.Next; params.Cursor == nil {
			break
		}
	}
	if !reflect.DeepEqual(found, created) {
		t.Errorf("the pages have %v, want %v", found, created)
	}
}
