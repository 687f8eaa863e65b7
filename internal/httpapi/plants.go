package httpapi

import (
	"context"
	"strconv"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/plant"
)

func (s *server) CreatePlant(ctx context.Context, req plantserver.CreatePlantRequestObject) (plantserver.CreatePlantResponseObject, error) {
	p := fromNewPlant(*req.Body)
	if err := s.plants.Create(ctx, p); err != nil {
		return nil, err
	}
	return plantserver.CreatePlant200JSONResponse{
		Body:    toPlant(p),
		Headers: plantserver.CreatePlant200ResponseHeaders{Location: location(p.ID)},
	}, nil
}

func fromNewPlant(p plantapi.NewPlant) plant.Plant {
	return plant.Plant{ID: p.ID, Name: p.Name, Tag: p.Tag}
}

func toPlant(p plant.Plant) plantapi.Plant {
	return plantapi.Plant{Name: p.Name, Tag: p.Tag}
}

// location is where the plant with this ID stands, relative to the service.
func location(id int64) string { return "/plants/" + strconv.FormatInt(id, 10) }
