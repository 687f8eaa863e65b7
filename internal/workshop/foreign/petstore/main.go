// Command petstore serves the petstore of the OpenAPI examples with a strict server of
// oapi-codegen behind its validation, as the documentation of both tells it.
package main

import (
	"cmp"
	"context"
	"log"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
	middleware "github.com/oapi-codegen/nethttp-middleware"

	"github.com/plantstore/plantstore/internal/workshop/foreign/petstore/made"
)

type store struct {
	mu   sync.Mutex
	next int64
	pets map[int64]made.Pet
}

func (s *store) FindPets(_ context.Context, r made.FindPetsRequestObject) (made.FindPetsResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := made.FindPets200JSONResponse{}
	byID := func(a, b made.Pet) int { return cmp.Compare(a.Id, b.Id) }
	for _, pet := range slices.SortedFunc(maps.Values(s.pets), byID) {
		if r.Params.Tags != nil && (pet.Tag == nil || !slices.Contains(*r.Params.Tags, *pet.Tag)) {
			continue
		}
		if found = append(found, pet); r.Params.Limit != nil && len(found) >= int(*r.Params.Limit) {
			break
		}
	}
	return found, nil
}

func (s *store) AddPet(_ context.Context, r made.AddPetRequestObject) (made.AddPetResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	pet := made.Pet{Id: s.next, Name: r.Body.Name, Tag: r.Body.Tag}
	s.pets[pet.Id] = pet
	return made.AddPet200JSONResponse(pet), nil
}

func (s *store) FindPetByID(
	_ context.Context, r made.FindPetByIDRequestObject,
) (made.FindPetByIDResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pet, found := s.pets[r.Id]
	if !found {
		return made.FindPetByIDdefaultJSONResponse{StatusCode: 404, Body: made.Error{Code: 404, Message: "no such pet"}}, nil
	}
	return made.FindPetByID200JSONResponse(pet), nil
}

func (s *store) DeletePet(_ context.Context, r made.DeletePetRequestObject) (made.DeletePetResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, found := s.pets[r.Id]; !found {
		return made.DeletePetdefaultJSONResponse{StatusCode: 404, Body: made.Error{Code: 404, Message: "no such pet"}}, nil
	}
	delete(s.pets, r.Id)
	return made.DeletePet204Response{}, nil
}

func main() {
	doc, err := openapi3.NewLoader().LoadFromFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	doc.Servers = nil
	r := chi.NewRouter()
	r.Use(middleware.OapiRequestValidator(doc))
	made.HandlerFromMux(made.NewStrictHandler(&store{pets: map[int64]made.Pet{}}, nil), r)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], r))
}
