package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/plantstore/plantstore/api/client"
)

// Download writes every plant of a service and calls written after each.
func Download(ctx context.Context, s *Service, w Writer, written func(plants int)) error {
	for p, err := range s.client.All(ctx) {
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

// WriteChanges writes the changes of a service after a position to w, each as a line
// of JSON in the form of the service. An empty position begins with all plants. It
// ends after the last change so far; if follow is set, it waits for more until ctx
// ends, also while the service is not available.
func WriteChanges(ctx context.Context, s *Service, after string, follow bool, w io.Writer) error {
	changes := s.client.ChangesUntilNow
	out := bufio.NewWriter(w)
	if follow {
		changes, s.follows, s.patience = s.client.Changes, true, 0
	}
	for c, err := range changes(ctx, client.Position(after)) {
		if err != nil {
			_ = out.Flush() // the changes before it
			return s.end(err)
		}
		if err := writeChange(out, c); err != nil {
			return err
		}
		if follow {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

func writeChange(w io.Writer, c client.Change) error {
	type plant struct {
		ID        int64       `json:"id"`
		Name      string      `json:"name"`
		Tag       *string     `json:"tag,omitempty"`
		ETag      client.ETag `json:"etag"`
		CreatedAt string      `json:"created_at"`
		UpdatedAt string      `json:"updated_at"`
	}
	line := struct {
		Position client.Position `json:"position"`
		ID       int64           `json:"id"`
		Plant    *plant          `json:"plant,omitempty"`
	}{Position: c.Position, ID: c.ID}
	if p := c.Plant; p != nil {
		const micros = "2006-01-02T15:04:05.000000Z07:00"
		line.Plant = &plant{p.ID, p.Name, p.Tag, p.ETag, p.CreatedAt.Format(micros), p.UpdatedAt.Format(micros)}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(line)
}
