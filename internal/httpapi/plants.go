package httpapi

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/plant"
)

// cacheControl forbids shared caches to store a plant, and makes private ones
// revalidate it.
const cacheControl = "private, no-cache"

func (s *server) CreatePlant(
	ctx context.Context, request plantserver.CreatePlantRequestObject,
) (plantserver.CreatePlantResponseObject, error) {
	p := fromNewPlant(*request.Body)
	p.ChangedBy = nameOf(ctx)
	if err := s.Plants.Create(ctx, p); err != nil {
		return nil, err
	}
	return response{body: new(toPlant(p)), location: s.location(p.ID)}, nil
}

func (s *server) CreatePlants(
	ctx context.Context, request plantserver.CreatePlantsRequestObject,
) (plantserver.CreatePlantsResponseObject, error) {
	plants := make([]plant.Plant, len(request.Body.Plants))
	batch := plantapi.Plants{Plants: make([]plantapi.Plant, len(plants))}
	seen := make(map[int64]bool, len(plants))
	name := nameOf(ctx)
	var again []int
	for i, p := range request.Body.Plants {
		if seen[p.ID] {
			again = append(again, i)
		}
		seen[p.ID] = true
		plants[i] = fromNewPlant(p)
		plants[i].ChangedBy = name
		batch.Plants[i] = toPlant(plants[i])
	}
	if again != nil {
		return nil, idTaken("is in this batch more than once", idPointers(again)...)
	}
	created, err := s.Plants.CreateAll(ctx, plants)
	if taken, ok := errors.AsType[plant.ExistsError](err); ok {
		return nil, idTaken("belongs to another plant", idPointers(taken.Indexes)...)
	}
	if err != nil {
		return nil, err
	}
	batch.Created = int32(created)
	return response{body: &batch}, nil
}

// idPointers returns the JSON Pointers to the ids of plants of a batch.
func idPointers(indexes []int) []string {
	pointers := make([]string, len(indexes))
	for i, index := range indexes {
		pointers[i] = "/plants/" + strconv.Itoa(index) + "/id"
	}
	return pointers
}

func (s *server) ListPlants(
	ctx context.Context, request plantserver.ListPlantsRequestObject,
) (plantserver.ListPlantsResponseObject, error) {
	search, err := searchOf(request.Params)
	if err != nil {
		return nil, err
	}
	search.Limit = pageSize(request.Params.Limit)
	plants, next, err := s.find(ctx, search, request.Params)
	if err != nil {
		return nil, err
	}
	stored := make(plantapi.StoredPlants, len(plants)) // never nil, which would be null
	for i := range plants {
		stored[i] = s.toStoredPlant(&plants[i])
	}
	list := response{body: &stored, cacheControl: cacheControl}
	if next != nil {
		parameter, value := placeAfter(search, next)
		list.link = s.nextPage(ctx, "/plants", parameter, value)
	}
	return list, nil
}

// find returns a page of plants, and the place after which the next page begins; nil: there is none.
func (s *server) find(
	ctx context.Context, search plant.Search, params plantapi.ListPlantsParams,
) (plants []plant.Plant, next *plant.Place, err error) {
	if needsSearch(params) {
		return s.Plants.Search(ctx, search)
	}
	plants, more, err := s.Plants.List(ctx, pageOf(search, params))
	if more {
		next = search.PlaceOf(plants[len(plants)-1])
	}
	return plants, next, err
}

// maxCount is where a count stops, as in the document. PostgreSQL takes 80 ms to count a
// million.
const maxCount = 100_000

func (s *server) CountPlants(
	ctx context.Context, request plantserver.CountPlantsRequestObject,
) (plantserver.CountPlantsResponseObject, error) {
	count, more, err := s.count(ctx, plantapi.ListPlantsParams{
		Q: request.Params.Q, Tag: request.Params.Tag, TagPrefix: request.Params.TagPrefix, NamePrefix: request.Params.NamePrefix,
	})
	if err != nil {
		return nil, err
	}
	return response{body: &plantapi.Count{Count: int32(count), More: more}, cacheControl: cacheControl}, nil
}

// count counts the plants of a list without an order.
func (s *server) count(ctx context.Context, params plantapi.ListPlantsParams) (n int, more bool, err error) {
	if params.Tag != nil && params.NamePrefix == nil {
		params.Order = new(plantapi.OrderID) // which examines only the plants with the tag
	}
	search, err := searchOf(params)
	if err != nil {
		return 0, false, err
	}
	search.Limit = maxCount
	if needsSearch(params) {
		return s.Plants.CountSearch(ctx, search)
	}
	return s.Plants.Count(ctx, pageOf(search, params))
}

func (s *server) ListTags(
	ctx context.Context, request plantserver.ListTagsRequestObject,
) (plantserver.ListTagsResponseObject, error) {
	page := plant.TagPage{After: request.Params.After, Limit: pageSize(request.Params.Limit)}
	if request.Params.Prefix != nil {
		page.Prefix = *request.Params.Prefix
	}
	tags, more, err := s.Plants.Tags(ctx, page)
	if err != nil {
		return nil, err
	}
	list := response{
		body:         new(append(plantapi.Tags{}, tags...)), // never nil, which would be null
		cacheControl: cacheControl,
	}
	if more {
		list.link = s.nextPage(ctx, "/tags", "after", tags[len(tags)-1])
	}
	return list, nil
}

func (s *server) GetPlant(
	ctx context.Context, request plantserver.GetPlantRequestObject,
) (plantserver.GetPlantResponseObject, error) {
	p, err := s.Plants.Get(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	// If-None-Match is checked below, because here it makes a 304 and no 412.
	if err := conditions(request.Params.IfMatch, nil).Check(&p); err != nil {
		return nil, err
	}
	if known := ifNoneMatch(request.Params.IfNoneMatch); known != nil && known.Has(p.ETag) {
		return plantserver.GetPlant304Response{
			Headers: plantserver.GetPlant304ResponseHeaders{CacheControl: cacheControl, ETag: quoted(p.ETag)},
		}, nil
	}
	return response{body: new(s.toStoredPlant(&p)), cacheControl: cacheControl, etag: quoted(p.ETag)}, nil
}

// PutPlant sends no ETag header, because the stored plant differs from the body of the
// request (RFC 9110, section 9.3.4). The body of the response has the version.
func (s *server) PutPlant(
	ctx context.Context, request plantserver.PutPlantRequestObject,
) (plantserver.PutPlantResponseObject, error) {
	p := plant.Plant{ID: request.ID, Name: request.Body.Name, Tag: request.Body.Tag, ChangedBy: nameOf(ctx)}
	stored, created, err := s.Plants.Put(ctx, p, conditions(request.Params.IfMatch, request.Params.IfNoneMatch))
	if err != nil {
		return nil, err
	}
	put := response{body: new(s.toStoredPlant(&stored))}
	if created {
		put.status, put.location = http.StatusCreated, s.location(stored.ID)
	}
	return put, nil
}

func (s *server) PatchPlant(
	ctx context.Context, request plantserver.PatchPlantRequestObject,
) (plantserver.PatchPlantResponseObject, error) {
	condition := conditions(request.Params.IfMatch, request.Params.IfNoneMatch)
	patch := fromPatch(*request.Body)
	patch.ChangedBy = nameOf(ctx)
	stored, err := s.Plants.Patch(ctx, request.ID, patch, condition)
	if err != nil {
		return nil, err
	}
	return response{body: new(s.toStoredPlant(&stored)), etag: quoted(stored.ETag)}, nil
}

func (s *server) DeletePlant(
	ctx context.Context, request plantserver.DeletePlantRequestObject,
) (plantserver.DeletePlantResponseObject, error) {
	condition := conditions(request.Params.IfMatch, request.Params.IfNoneMatch)
	if err := s.Plants.Delete(ctx, request.ID, nameOf(ctx), condition); err != nil {
		return nil, err
	}
	return plantserver.DeletePlant204Response{}, nil
}

func fromNewPlant(p plantapi.NewPlant) plant.Plant {
	return plant.Plant{ID: p.ID, Name: p.Name, Tag: p.Tag}
}

func fromPatch(p plantapi.PlantPatch) plant.Patch {
	change := plant.Patch{Name: p.Name, SetTag: p.Tag.IsSpecified()}
	if tag, err := p.Tag.Get(); err == nil {
		change.Tag = &tag
	}
	return change
}

func toPlant(p plant.Plant) plantapi.Plant {
	return plantapi.Plant{Name: p.Name, Tag: p.Tag}
}

func (s *server) toStoredPlant(p *plant.Plant) plantapi.StoredPlant {
	return plantapi.StoredPlant{
		ID:        p.ID,
		Name:      p.Name,
		Tag:       p.Tag,
		ETag:      p.ETag,
		CreatedAt: p.CreatedAt,
		UpdatedAt: p.UpdatedAt,
		ChangedBy: s.shown(&p.ChangedBy),
	}
}

// shown returns a name as clients see it: nil if it is not known, or if names are left out.
func (s *server) shown(name *string) *string {
	if s.NoNames || *name == "" {
		return nil
	}
	return name
}

// location returns the path of the plant with this ID.
func (s *server) location(id int64) string {
	var buf [64]byte // large enough for most locations, so that only the string is allocated
	path := append(append(buf[:0], s.basePath...), "/plants/"...)
	return string(strconv.AppendInt(path, id, 10))
}

// conditions parses the headers If-Match (RFC 9110, section 13.1.1), which compares
// strongly, so that a weak tag matches nothing, and If-None-Match.
func conditions(match, noneMatch *string) plant.Precondition {
	return plant.Precondition{IfMatch: etags(match, false), IfNoneMatch: ifNoneMatch(noneMatch)}
}

// ifNoneMatch parses an If-None-Match header (RFC 9110, section 13.1.2), which
// compares weakly: W/ makes no difference.
func ifNoneMatch(header *string) *plant.ETags {
	return etags(header, true)
}

// entityTags matches each tag of a list, and what makes it weak.
var entityTags = regexp.MustCompile(`(W/)?"([^"]*)"`)

// etags parses a list of entity tags that matches the pattern of the document, with or
// without the weak ones. It returns nil if there is no header.
func etags(header *string, keepWeak bool) *plant.ETags {
	if header == nil {
		return nil
	}
	list := &plant.ETags{Any: strings.Trim(*header, "\t ") == "*"}
	for _, tag := range entityTags.FindAllStringSubmatch(*header, -1) {
		if tag[1] == "" || keepWeak {
			list.List = append(list.List, tag[2])
		}
	}
	return list
}

// quoted returns a version as the value of an ETag header.
func quoted(etag string) string { return `"` + etag + `"` }
