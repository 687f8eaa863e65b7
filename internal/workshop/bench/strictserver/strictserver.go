// Package strictserver implements a create for the server that oapi-codegen
// makes from api/openapi.yaml with its own templates and options: chi and the
// strict interface. It checks neither credentials nor the request.
package strictserver

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/workshop/bench/gen/strict"
)

// Creator stores plants.
type Creator interface {
	Create(context.Context, plant.Plant) error
}

// New returns the handler over the plants, behind a middleware.
func New(plants Creator, middleware func(http.Handler) http.Handler) http.Handler {
	router := chi.NewRouter()
	router.Use(middleware)
	return strict.HandlerFromMux(strict.NewStrictHandler(&server{plants: plants}, nil), router)
}

type server struct {
	strict.StrictServerInterface // the other operations are not called
	plants                       Creator
}

// CreatePlant stores a plant.
func (s *server) CreatePlant(ctx context.Context, req strict.CreatePlantRequestObject) (strict.CreatePlantResponseObject, error) {
	p := plant.Plant{ID: req.Body.Id, Name: req.Body.Name, Tag: req.Body.Tag}
	if err := s.plants.Create(ctx, p); err != nil {
		return nil, err
	}
	return strict.CreatePlant200JSONResponse{
		Body:    strict.Plant{Name: p.Name, Tag: p.Tag},
		Headers: strict.CreatePlant200ResponseHeaders{Location: "/plants/" + strconv.FormatInt(p.ID, 10)},
	}, nil
}
