package plantcontract

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/plantstore/plantstore/internal/plant"
)

// The stores below have a fault each, as the servers of dishonestServers have.

var dishonestStores = map[string]func(plant.Store) plant.Store{
	"never moves updated_at":                      func(s plant.Store) plant.Store { return sameTime{s} },
	"moves created_at":                            func(s plant.Store) plant.Store { return movingTime{s} },
	"changes a plant when its PUT is repeated":    func(s plant.Store) plant.Store { return restless{s} },
	"lists the plant after which it begins":       func(s plant.Store) plant.Store { return including{s} },
	"has no changes by deletions":                 func(s plant.Store) plant.Store { return missing{s} },
	"has deleted plants in its changes":           func(s plant.Store) plant.Store { return reviving{s} },
	"lacks a plant in its changes":                func(s plant.Store) plant.Store { return skipping{s} },
	"refuses a repeated create":                   func(s plant.Store) plant.Store { return onlyOnce{s} },
	"changes a plant when its create is repeated": func(s plant.Store) plant.Store { return touching{s} },
}

// sameTime never moves updated_at.
type sameTime struct{ plant.Store }

func (s sameTime) Get(ctx context.Context, id int64) (plant.Plant, error) {
	p, err := s.Store.Get(ctx, id)
	p.UpdatedAt = p.CreatedAt
	return p, err
}

// movingTime moves created_at, too.
type movingTime struct{ plant.Store }

func (s movingTime) Get(ctx context.Context, id int64) (plant.Plant, error) {
	p, err := s.Store.Get(ctx, id)
	p.CreatedAt = p.UpdatedAt
	return p, err
}

// onlyOnce refuses to repeat a create.
type onlyOnce struct{ plant.Store }

func (s onlyOnce) Create(ctx context.Context, p plant.Plant) error {
	if _, err := s.Get(ctx, p.ID); err == nil {
		return plant.ErrExists
	}
	return s.Store.Create(ctx, p)
}

// touching changes a plant when its create is repeated.
type touching struct{ plant.Store }

func (s touching) Create(ctx context.Context, p plant.Plant) error {
	if old, err := s.Get(ctx, p.ID); err == nil && old.Name == p.Name && reflect.DeepEqual(old.Tag, p.Tag) {
		time.Sleep(time.Microsecond) // times have microseconds
		other := p
		other.Name += " "
		_, _, _ = s.Put(ctx, other, plant.Precondition{})
		_, _, _ = s.Put(ctx, p, plant.Precondition{})
		return nil
	}
	return s.Store.Create(ctx, p)
}

// restless changes a plant when its replacement is repeated.
type restless struct{ plant.Store }

func (s restless) Put(ctx context.Context, p plant.Plant, c plant.Precondition) (plant.Plant, bool, error) {
	if old, err := s.Get(ctx, p.ID); err == nil && old.Name == p.Name && reflect.ValueOf(c).IsZero() {
		time.Sleep(time.Microsecond) // times have microseconds
		other := p
		other.Name += " "
		_, _, _ = s.Store.Put(ctx, other, c)
	}
	return s.Store.Put(ctx, p, c)
}

// including lists the plant that a page follows, too, on a last page of the default size.
type including struct{ plant.Store }

func (s including) List(ctx context.Context, page plant.Page) ([]plant.Plant, bool, error) {
	plants, more, err := s.Store.List(ctx, page)
	if page.After != nil && page.Tag == nil && page.Limit == 100 && len(plants) < 100 {
		if p, err := s.Get(ctx, *page.After); err == nil {
			plants = append([]plant.Plant{p}, plants...)
		}
	}
	return plants, more, err
}

// missing lacks the changes by a deletion.
type missing struct{ plant.Store }

func (s missing) Changes(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
	changes, next, err := s.Store.Changes(ctx, after, limit)
	return slices.DeleteFunc(changes, func(c plant.Change) bool { return c.Plant == nil }), next, err
}

// reviving gives a deleted plant a state.
type reviving struct{ plant.Store }

func (s reviving) Changes(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
	changes, next, err := s.Store.Changes(ctx, after, limit)
	for i := range changes {
		if changes[i].Plant == nil {
			changes[i].Plant = &plant.Plant{ID: changes[i].ID, Name: "revived", ETag: "0", CreatedAt: time.UnixMicro(1).UTC(), UpdatedAt: time.UnixMicro(1).UTC()}
		}
	}
	return changes, next, err
}

// skipping has only the first plant of each page of the walk.
type skipping struct{ plant.Store }

func (s skipping) Changes(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
	changes, next, err := s.Store.Changes(ctx, after, limit)
	if (after == nil || after.Walk != nil) && len(changes) > 1 {
		changes = changes[:1]
	}
	return changes, next, err
}
