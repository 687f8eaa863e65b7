package httpapi_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store"
	"github.com/plantstore/plantstore/internal/store/postgres"
)

// model is the service as a map. It says what every operation does and returns.
type model map[int64]plant.Plant

// create returns 0 for success, or an error number.
func (m model) create(plants ...plantapi.NewPlant) plantapi.ErrorCode {
	after := maps.Clone(m)
	seen := map[int64]bool{}
	for _, p := range plants {
		added := plant.Plant{ID: p.ID, Name: p.Name, Tag: p.Tag}
		if old, taken := m[p.ID]; seen[p.ID] || taken && !old.Same(added) {
			return plantapi.CodeIDTaken
		}
		seen[p.ID] = true
		after[p.ID] = added
	}
	maps.Copy(m, after)
	return 0
}

// TestModel runs random operations against the service and the model, and compares
// every response and what is stored in the end.
func TestModel(t *testing.T) {
	t.Parallel()
	holdToModel(t, newService(t))
}

// Two servers with one database behave as one service for a client whose requests go
// to both in turn.
func TestModelOnTwoServers(t *testing.T) {
	t.Parallel()
	dsn := newDSN(t)
	var servers []http.Handler
	var store store.Store
	for range 2 {
		opening, err := postgres.Open(t.Context(), dsn)
		store = opened(t, opening, err)
		servers = append(servers, newService(t, offline, withStore(store)).handler)
	}
	var requests atomic.Int64
	holdToModel(t, newService(t, withStore(store), withHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		servers[requests.Add(1)%2].ServeHTTP(w, r)
	}))))
}

func holdToModel(t *testing.T, s *service) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		for _, id := range s.walkLinks("/plants") {
			s.call(http.MethodDelete, fmt.Sprint("/plants/", id), "").wantStatus(t, http.StatusNoContent)
		}
		m := model{}
		etags := map[int64]string{} // of the stored versions
		old := []string{`"never"`}  // of earlier versions

		id := rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, 2, math.MaxInt64})
		text := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "\x00", "蘭"}), rapid.String())
		tag := rapid.Ptr(text, true)
		newPlant := rapid.Custom(func(t *rapid.T) plantapi.NewPlant {
			return plantapi.NewPlant{ID: id.Draw(t, "id"), Name: text.Draw(t, "name"), Tag: tag.Draw(t, "tag")}
		})
		// version draws an If-Match for a plant (none, its version, an old one or *)
		// and returns whether it matches.
		version := func(rt *rapid.T, id int64) (header *string, holds bool) {
			_, there := m[id]
			switch rapid.IntRange(0, 3).Draw(rt, "version") {
			case 0:
				return nil, true
			case 1:
				if there {
					return new(etags[id]), true
				}
				return new(`"none"`), false
			case 2:
				return new(rapid.SampledFrom(old).Draw(rt, "old")), false
			default:
				return new("*"), there
			}
		}
		var code func(status int, e *plantapi.Error) plantapi.ErrorCode = func(status int, e *plantapi.Error) plantapi.ErrorCode {
			if e != nil {
				return plantapi.ErrorCode(e.Error)
			}
			if status >= 300 {
				return plantapi.ErrorCode(-status)
			}
			return 0
		}
		// stored compares a stored plant with the model.
		stored := func(rt *rapid.T, p *plantapi.StoredPlant) {
			want := m[p.ID]
			if got := (plant.Plant{ID: p.ID, Name: p.Name, Tag: p.Tag}); !got.Same(want) {
				rt.Fatalf("the service has %+v, the model %+v", got, want)
			}
			if now := `"` + p.ETag + `"`; etags[p.ID] != now {
				if slices.Contains(old, now) {
					rt.Fatalf("version %s of plant %d came again", now, p.ID)
				}
				if etags[p.ID] != "" {
					old = append(old, etags[p.ID])
				}
				etags[p.ID] = now
			}
		}
		get := func(rt *rapid.T, id int64) {
			resp, err := s.client.GetPlantWithResponse(t.Context(), id, nil)
			if err != nil {
				rt.Fatal(err)
			}
			if _, there := m[id]; there != (resp.JSON200 != nil) {
				rt.Fatalf("GET %d: got %s, in the model it exists: %v", id, resp.Status(), there)
			}
			if resp.JSON200 != nil {
				stored(rt, resp.JSON200)
			}
		}
		expect := func(rt *rapid.T, got, want plantapi.ErrorCode) {
			if got != want {
				rt.Fatalf("got %d, want %d (0 is success)", got, want)
			}
		}

		rt.Repeat(map[string]func(*rapid.T){
			"create": func(rt *rapid.T) {
				p := newPlant.Draw(rt, "plant")
				resp, err := s.client.CreatePlantWithResponse(t.Context(), p)
				if err != nil {
					rt.Fatal(err)
				}
				expect(rt, code(resp.StatusCode(), resp.JSON400), m.create(p))
				get(rt, p.ID)
			},
			"batch": func(rt *rapid.T) {
				plants := rapid.SliceOfN(newPlant, 1, 4).Draw(rt, "plants")
				resp, err := s.client.CreatePlantsWithResponse(t.Context(), plantapi.NewPlants{Plants: plants})
				if err != nil {
					rt.Fatal(err)
				}
				expect(rt, code(resp.StatusCode(), resp.JSON400), m.create(plants...))
				for _, p := range plants {
					get(rt, p.ID)
				}
			},
			"put": func(rt *rapid.T) {
				p := newPlant.Draw(rt, "plant")
				match, holds := version(rt, p.ID)
				resp, err := s.client.PutPlantWithResponse(t.Context(), p.ID, &plantapi.PutPlantParams{IfMatch: match}, plantapi.Plant{Name: p.Name, Tag: p.Tag})
				if err != nil {
					rt.Fatal(err)
				}
				want := plantapi.ErrorCode(0)
				_, there := m[p.ID]
				if holds {
					m[p.ID] = plant.Plant{ID: p.ID, Name: p.Name, Tag: p.Tag}
				} else {
					want = plantapi.CodePreconditionFailed
				}
				expect(rt, code(resp.StatusCode(), resp.JSON412), want)
				if holds && there != (resp.StatusCode() == http.StatusOK) {
					rt.Fatalf("PUT: got %s, in the model it existed: %v", resp.Status(), there)
				}
				get(rt, p.ID)
			},
			"patch": func(rt *rapid.T) {
				id := id.Draw(rt, "id")
				change := plantapi.PlantPatch{Name: rapid.Ptr(text, true).Draw(rt, "name")}
				switch rapid.IntRange(0, 2).Draw(rt, "tag") {
				case 1:
					change.Tag.SetNull()
				case 2:
					change.Tag.Set(text.Draw(rt, "text"))
				}
				match, holds := version(rt, id)
				resp, err := s.client.PatchPlantWithApplicationMergePatchPlusJSONBodyWithResponse(t.Context(), id, &plantapi.PatchPlantParams{IfMatch: match}, change)
				if err != nil {
					rt.Fatal(err)
				}
				p, there := m[id]
				want := plantapi.ErrorCode(0)
				switch {
				case !there:
					want = plantapi.CodeNoSuchPlant
				case !holds:
					want = plantapi.CodePreconditionFailed
				default:
					if change.Name != nil {
						p.Name = *change.Name
					}
					if change.Tag.IsNull() {
						p.Tag = nil
					} else if tag, err := change.Tag.Get(); err == nil {
						p.Tag = &tag
					}
					m[id] = p
				}
				failed := resp.JSON404
				if failed == nil {
					failed = resp.JSON412
				}
				expect(rt, code(resp.StatusCode(), failed), want)
				get(rt, id)
			},
			"delete": func(rt *rapid.T) {
				id := id.Draw(rt, "id")
				match, holds := version(rt, id)
				resp, err := s.client.DeletePlantWithResponse(t.Context(), id, &plantapi.DeletePlantParams{IfMatch: match})
				if err != nil {
					rt.Fatal(err)
				}
				want := plantapi.ErrorCode(0)
				switch _, there := m[id]; {
				case !there:
					want = plantapi.CodeNoSuchPlant
				case !holds:
					want = plantapi.CodePreconditionFailed
				default:
					delete(m, id)
					old = append(old, etags[id])
					delete(etags, id)
				}
				failed := resp.JSON404
				if failed == nil {
					failed = resp.JSON412
				}
				expect(rt, code(resp.StatusCode(), failed), want)
				get(rt, id)
			},
			"list": func(rt *rapid.T) {
				params := plantapi.ListPlantsParams{
					Limit: rapid.Ptr(rapid.Int32Range(1, 4), true).Draw(rt, "limit"),
					After: rapid.Ptr(id, true).Draw(rt, "after"),
					Tag:   tag.Draw(rt, "tag"),
				}
				resp, err := s.client.ListPlantsWithResponse(t.Context(), &params)
				if err != nil || resp.JSON200 == nil {
					rt.Fatalf("GET /plants: got %s, %v", resp.Status(), err)
				}
				var want []int64
				for _, id := range slices.Sorted(maps.Keys(m)) {
					p := m[id]
					if (params.After == nil || id > *params.After) && (params.Tag == nil || p.Tag != nil && *p.Tag == *params.Tag) {
						want = append(want, id)
					}
				}
				limit := len(want)
				if params.Limit != nil {
					limit = min(limit, int(*params.Limit))
				}
				if more := resp.Headers200.Link != nil; more != (len(want) > limit) {
					rt.Errorf("Link says more = %v, the model has %d more", more, len(want)-limit)
				}
				var got []int64
				for _, p := range *resp.JSON200 {
					got = append(got, p.ID)
					stored(rt, &p)
				}
				if !slices.Equal(got, want[:limit]) {
					rt.Fatalf("listed %v, want %v", got, want[:limit])
				}
			},
		})
		var all []int64
		for _, id := range s.walkLinks("/plants") {
			all = append(all, id)
			get(rt, id)
		}
		if !slices.Equal(all, slices.Sorted(maps.Keys(m))) {
			rt.Errorf("in the end the service has %v, the model %v", all, slices.Sorted(maps.Keys(m)))
		}
	})
}
