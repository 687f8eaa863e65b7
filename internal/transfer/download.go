package transfer

import (
	"bufio"
	"context"
	"io"
	"iter"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantjson"
)

// Download writes the plants of a service that the options select, and calls written after
// each.
func Download(ctx context.Context, service *Service, file Writer, written func(plants int), options ...client.ListOption) error {
	for plant, err := range service.client.All(ctx, options...) {
		if err := service.end(err); err != nil {
			return err
		}
		if err := file.Write(plant); err != nil {
			return err
		}
		written(1)
	}
	return file.Flush()
}

// Changes returns the changes of a service after a position. An empty position begins with
// all plants. It ends after the last change so far; if follow is set, it waits for more
// until ctx ends, also while the service is not available.
func (s *Service) Changes(ctx context.Context, after client.Position, follow bool) iter.Seq2[client.Change, error] {
	changes := s.client.ChangesUntilNow
	if follow {
		changes = s.client.Changes
		s.followOnce.Do(func() { // Waiting may be called at the same time as a later call
			s.follows, s.patience, s.silence = true, forever, forever
			s.grace = 0 // such a request changes nothing
		})
	}
	return func(yield func(client.Change, error) bool) {
		for change, err := range changes(ctx, after) {
			if !yield(change, s.end(err)) {
				return
			}
		}
	}
}

// Now returns the position after the last change so far.
func (s *Service) Now(ctx context.Context) (client.Position, error) {
	position, err := s.client.Now(ctx)
	return position, s.end(err)
}

// WriteChanges writes [Service.Changes] to file, each as a line of JSON in the form of the
// service.
func WriteChanges(ctx context.Context, service *Service, after string, follow bool, file io.Writer) error {
	buffer := bufio.NewWriter(file)
	output := io.Writer(buffer)
	if follow {
		output = file // each change at once
	}
	for change, err := range service.Changes(ctx, client.Position(after), follow) {
		if err == nil {
			_, err = output.Write(changeLine(change))
		}
		if err != nil {
			_ = buffer.Flush() // the changes before the error
			return err
		}
	}
	return buffer.Flush()
}

// changeLine returns a change as a line of JSON.
func changeLine(changed client.Change) []byte {
	change := plantapi.Change{Position: string(changed.Position), ID: changed.ID, ChangedBy: known(changed.ChangedBy)}
	if changed.Plant != nil {
		change.Plant = new(StoredPlant(*changed.Plant))
	}
	return append(plantjson.AppendJSON(nil, &change), '\n')
}

// StoredPlant returns a plant in the form of the service.
func StoredPlant(plant client.Plant) plantapi.StoredPlant {
	return plantapi.StoredPlant{
		ID:        plant.ID,
		Name:      plant.Name,
		Tag:       plant.Tag,
		ETag:      string(plant.ETag),
		CreatedAt: plant.CreatedAt,
		UpdatedAt: plant.UpdatedAt,
		ChangedBy: known(plant.ChangedBy),
	}
}

// known returns a name, or nil if it is empty.
func known(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}
