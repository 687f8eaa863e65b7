// Ogen is the server that ogen generates from the same document, with all its
// defaults.
package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"strconv"

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/workshop/bench/gen/ogen"
	"github.com/plantstore/plantstore/internal/workshop/bench/peer"
)

func main() {
	peer.Main(func(plants *peer.Plants) (http.Handler, error) {
		s := &server{plants: plants}
		return ogen.NewServer(s, s)
	})
}

type server struct {
	ogen.UnimplementedHandler // the other operations are not called
	plants                    *peer.Plants
}

// HandleBearerAuth tells whether the token is ours.
func (s *server) HandleBearerAuth(ctx context.Context, _ ogen.OperationName, t ogen.BearerAuth) (context.Context, error) {
	if subtle.ConstantTimeCompare([]byte(t.Token), []byte(peer.Token)) != 1 {
		return nil, errors.New("credentials not valid")
	}
	return ctx, nil
}

// CreatePlant stores a plant.
func (s *server) CreatePlant(ctx context.Context, req *ogen.NewPlant) (ogen.CreatePlantRes, error) {
	p := plant.Plant{ID: req.ID, Name: req.Name}
	if tag, ok := req.Tag.Get(); ok {
		p.Tag = &tag
	}
	if err := s.plants.Create(ctx, p); err != nil {
		return nil, err
	}
	return &ogen.PlantHeaders{
		Location: "/plants/" + strconv.FormatInt(p.ID, 10),
		Response: ogen.Plant{Name: req.Name, Tag: req.Tag},
	}, nil
}
