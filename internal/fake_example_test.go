package internal_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/plantstore/plantstore/api"
	"github.com/plantstore/plantstore/api/contract"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
)

// fakePlants is a Plant Store as the tests of another service may have it: it
// knows the one operation that they need, and panics at any other.
type fakePlants struct {
	plantserver.StrictServerInterface
	plants map[int64]plantapi.StoredPlant
}

func (f fakePlants) GetPlant(_ context.Context, req plantserver.GetPlantRequestObject) (plantserver.GetPlantResponseObject, error) {
	p, ok := f.plants[req.ID]
	if !ok {
		return plantserver.GetPlant404JSONResponse{NoSuchPlantJSONResponse: plantserver.NoSuchPlantJSONResponse{
			Error: int32(plantapi.CodeNoSuchPlant), Message: "no such plant",
		}}, nil
	}
	return plantserver.GetPlant200JSONResponse{
		Body:    p,
		Headers: plantserver.GetPlant200ResponseHeaders{CacheControl: "no-cache", ETag: `"` + p.ETag + `"`},
	}, nil
}

// anybody may call every operation of the fake.
func anybody(http.ResponseWriter, *http.Request, *contract.Operation) (context.Context, error) {
	return nil, nil
}

// A fake store of one's own for tests, in a few lines.
func Example_fake() {
	fake := fakePlants{plants: map[int64]plantapi.StoredPlant{1: {ID: 1, Name: "Ficus lyrata"}}}
	checker, err := contract.New(api.Document, contract.Options{Authorize: anybody})
	if err != nil {
		fmt.Println(err)
		return
	}
	router := chi.NewRouter()
	router.Group(func(r chi.Router) {
		r.Use(checker.Middleware)
		plantserver.HandlerFromMux(plantserver.NewStrictHandler(fake, nil), r)
	})
	for _, path := range []string{"/plants/1", "/plants/2"} {
		response := httptest.NewRecorder()
		router.ServeHTTP(response, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Print(response.Code, " ", response.Body)
	}
	// Output:
	// 200 {"created_at":"0001-01-01T00:00:00Z","etag":"","id":1,"name":"Ficus lyrata","updated_at":"0001-01-01T00:00:00Z"}
	// 404 {"error":40401,"message":"no such plant"}
}
