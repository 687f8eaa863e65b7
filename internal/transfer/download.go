package transfer

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"iter"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
)

// Download writes the plants of a service that the options select, and calls written after
// each.
func Download(ctx context.Context, s *Service, w Writer, written func(plants int), opts ...client.ListOption) error {
	for p, err := range s.client.All(ctx, opts...) {
		if err := s.end(err); err != nil {
			return err
		}
		if err := w.Write(p); err != nil {
			return err
		}
		written(1)
	}
	return w.Flush()
}

// Changes returns the changes of a service after a position. An empty position begins with
// all plants. It ends after the last change so far; if follow is set, it waits for more
// until ctx ends, also while the service is not available.
func (s *Service) Changes(ctx context.Context, after client.Position, follow bool) iter.Seq2[client.Change, error] {
	changes := s.client.ChangesUntilNow
	if follow {
		changes, s.follows, s.patience = s.client.Changes, true, 0
	}
	return func(yield func(client.Change, error) bool) {
		for c, err := range changes(ctx, after) {
			if !yield(c, s.end(err)) {
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

// WriteChanges writes [Service.Changes] to w, each as a line of JSON in the form of the
// service.
func WriteChanges(ctx context.Context, s *Service, after string, follow bool, w io.Writer) error {
	out := bufio.NewWriter(w)
	for c, err := range s.Changes(ctx, client.Position(after), follow) {
		if err == nil {
			err = writeChange(out, c)
		}
		if follow || err != nil {
			err = cmp.Or(err, out.Flush()) // also the changes before an error
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeChange(w io.Writer, c client.Change) error {
	change := plantapi.Change{Position: string(c.Position), ID: c.ID}
	if c.Plant != nil {
		change.Plant = new(StoredPlant(*c.Plant))
	}
	_, err := w.Write(append(plantserver.AppendJSON(nil, &change), '\n'))
	return err
}

// StoredPlant returns a plant in the form of the service.
func StoredPlant(p client.Plant) plantapi.StoredPlant {
	return plantapi.StoredPlant{
		ID: p.ID, Name: p.Name, Tag: p.Tag, ETag: string(p.ETag), CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
}
