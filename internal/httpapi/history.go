package httpapi

import (
	"context"
	"fmt"
	"strconv"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/plant"
)

// GetHistory has the number of the last entry of a page, in hexadecimal digits, as the cursor of the next page.
func (s *server) GetHistory(
	ctx context.Context, request plantserver.GetHistoryRequestObject,
) (plantserver.GetHistoryResponseObject, error) {
	page := plant.HistoryPage{Limit: pageSize(request.Params.Limit)}
	if request.Params.Cursor != nil {
		number, _ := strconv.ParseUint(*request.Params.Cursor, 16, 64) // the document allows nothing else
		page.Before = new(int64(number))
	}
	entries, more, err := s.Plants.History(ctx, request.ID, page)
	if err != nil {
		return nil, err
	}
	history := make(plantapi.History, len(entries)) // never nil, which would be null
	for i := range entries {
		entry := &entries[i]
		history[i] = plantapi.HistoryEntry{
			Change:    plantapi.HistoryEntryChange(entry.Change),
			ChangedAt: entry.At,
			ChangedBy: s.shown(&entry.By),
			Plant:     s.toStoredPlant(&entry.Plant),
		}
	}
	list := response{body: &history, cacheControl: cacheControl}
	if more {
		path := fmt.Sprintf("/plants/%d/history", request.ID)
		list.link = s.nextPage(ctx, path, "cursor", fmt.Sprintf("%016x", entries[len(entries)-1].Number))
	}
	return list, nil
}
