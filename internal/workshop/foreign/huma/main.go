// Command huma serves books with huma: a document of OpenAPI 3.1, problem details, and PATCH
// made from GET and PUT.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/danielgtaylor/huma/v2/autopatch"
	"github.com/danielgtaylor/huma/v2/conditional"
	"github.com/go-chi/chi/v5"
)

// Book is what is served.
type Book struct {
	Title     string            `json:"title" minLength:"1" maxLength:"80"`
	Author    string            `json:"author,omitempty"`
	Published time.Time         `json:"published"`
	Ratings   int               `json:"ratings,omitempty" minimum:"0"`
	Average   float64           `json:"average,omitempty" minimum:"0" maximum:"5"`
	Tags      []string          `json:"tags,omitempty" maxItems:"5" uniqueItems:"true"`
	Kind      string            `json:"kind,omitempty" enum:"novel,poems,science"`
	Related   map[string]string `json:"related,omitempty"`
	Cover     *struct {
		URL string `json:"url" format:"uri"`
	} `json:"cover,omitempty"`
}

type stored struct {
	ETag     string    `header:"ETag"`
	Modified time.Time `header:"Last-Modified"`
	Body     Book
}

type summary struct {
	ID, Title string
}

func main() {
	var mu sync.Mutex
	books := map[string]stored{}
	r := chi.NewMux()
	api := humachi.New(r, huma.DefaultConfig("Books", "1.0.0"))
	huma.Get(api, "/books", func(_ context.Context, in *struct {
		Kind  string `query:"kind" enum:"novel,poems,science"`
		Limit int    `query:"limit" default:"10" minimum:"1" maximum:"100"`
	},
	) (*struct{ Body []summary }, error) {
		mu.Lock()
		defer mu.Unlock()
		out := &struct{ Body []summary }{Body: []summary{}}
		for id, b := range books {
			if len(out.Body) < in.Limit && (in.Kind == "" || b.Body.Kind == in.Kind) {
				out.Body = append(out.Body, summary{id, b.Body.Title})
			}
		}
		return out, nil
	})
	type One struct {
		ID string `path:"id" pattern:"^[a-z0-9-]+$" maxLength:"30"`
	}
	huma.Get(api, "/books/{id}", func(_ context.Context, in *struct {
		One
		conditional.Params
	},
	) (*stored, error) {
		mu.Lock()
		defer mu.Unlock()
		b, ok := books[in.ID]
		if !ok {
			return nil, huma.Error404NotFound("no such book")
		}
		if in.HasConditionalParams() {
			if err := in.PreconditionFailed(b.ETag, b.Modified); err != nil {
				return nil, err
			}
		}
		return &b, nil
	})
	huma.Put(api, "/books/{id}", func(_ context.Context, in *struct {
		One
		Body Book
	},
	) (*stored, error) {
		mu.Lock()
		defer mu.Unlock()
		b := stored{fmt.Sprintf("%x", time.Now().UnixNano()), time.Now(), in.Body}
		books[in.ID] = b
		return &b, nil
	})
	huma.Delete(api, "/books/{id}", func(_ context.Context, in *One) (*struct{}, error) {
		mu.Lock()
		defer mu.Unlock()
		delete(books, in.ID)
		return nil, nil
	})
	autopatch.AutoPatch(api)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], r))
}
