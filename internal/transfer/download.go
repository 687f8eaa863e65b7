package transfer

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// Download writes every plant of a service and calls written after each page.
// It fetches the next page while it writes one.
func Download(ctx context.Context, s *Service, w Writer, written func(plants int)) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	pages := make(chan []plantapi.NewPlant, 1)
	go func() {
		defer close(pages)
		if err := s.fetch(ctx, pages); err != nil {
			fail(err)
		}
	}()
	for page := range pages {
		for _, p := range page {
			if err := w.Write(p); err != nil {
				return err
			}
		}
		written(len(page))
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return w.Flush()
}

// fetch sends every page to pages.
func (s *Service) fetch(ctx context.Context, pages chan<- []plantapi.NewPlant) error {
	params := plantapi.ListPlantsParams{Limit: new(int32(1000))}
	for {
		resp, _, err := s.try(ctx, func(ctx context.Context) (*http.Response, error) {
			return s.client.ListPlants(ctx, &params)
		})
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return s.explain(resp)
		}
		// Only the members of a NewPlant are needed. Decoding the others of a
		// StoredPlant would take half of the time.
		var plants []plantapi.NewPlant
		if err := json.UnmarshalRead(resp.Body, &plants); err != nil {
			return fmt.Errorf("the response of %s is not a list of plants: check --server (%w)", s.url, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case pages <- plants:
		}
		if resp.Header.Get("Link") == "" || len(plants) == 0 {
			return nil
		}
		params.After = &plants[len(plants)-1].ID
	}
}
