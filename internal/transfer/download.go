package transfer

import (
	"context"

	"github.com/plantstore/plantstore/api/client"
)

const (
	// Download passes on this many plants at a time, or fewer with this many bytes
	// of names and tags.
	maxPart      = 1000
	maxPartBytes = 4 << 20
)

// Download writes every plant of a service and calls written from time to time.
// It fetches the next plants while it writes some.
func Download(ctx context.Context, s *Service, w Writer, written func(plants int)) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	parts := make(chan []client.Plant, 1)
	go func() {
		defer close(parts)
		if err := s.fetch(ctx, parts); err != nil {
			fail(err)
		}
	}()
	for part := range parts {
		for _, p := range part {
			if err := w.Write(p); err != nil {
				return err
			}
		}
		written(len(part))
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return w.Flush()
}

// fetch sends every plant to parts.
func (s *Service) fetch(ctx context.Context, parts chan<- []client.Plant) error {
	var part []client.Plant
	size := 0
	send := func() {
		select {
		case <-ctx.Done():
		case parts <- part:
		}
		part, size = make([]client.Plant, 0, maxPart), 0
	}
	for p, err := range s.client.All(ctx) {
		if err := s.end(err); err != nil {
			return err
		}
		part, size = append(part, p), size+len(p.Name)
		if p.Tag != nil {
			size += len(*p.Tag)
		}
		if len(part) == maxPart || size > maxPartBytes {
			send()
		}
	}
	send()
	return nil
}
