package client

import (
	"context"
	"iter"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
)

// A HistoryEntry is a change of a plant, with the state that it has ended.
type HistoryEntry struct {
	Change    plantapi.HistoryEntryChange `json:"change"` // what was done
	ChangedAt time.Time                   `json:"changed_at"`
	ChangedBy string                      `json:"changed_by,omitempty"` // who made the change; empty: not known
	Plant     Plant                       `json:"plant"`                // the state before
}

// What a [HistoryEntry] says was done to a plant.
const (
	Replaced = plantapi.Replaced
	Patched  = plantapi.Patched
	Deleted  = plantapi.Deleted
)

// History returns the changes of a plant, the newest first, each with the state before. A plant that
// was deleted has a history, too; if there is none of an id, the error is [ErrNoSuchPlant]. After an
// error the loop ends. To bring a state back, store it again, if the plant is still as it was read:
//
//	present, err := c.Get(ctx, id)
//	for entry, err := range c.History(ctx, id) {
//		if err == nil && isWanted(entry.Plant) {
//			_, err = c.Put(ctx, entry.Plant, client.IfMatch(present.ETag))
//			break
//		}
//	}
//
// A plant that was deleted is brought back by [Client.Insert].
func (c *Client) History(ctx context.Context, id int64) iter.Seq2[HistoryEntry, error] {
	first := ofPlant("read the history of", id, reads, nil)
	first.made(plantclient.NewGetHistoryRequest(c.server, id, &plantapi.GetHistoryParams{Limit: new(int32(1000))}))
	return list[HistoryEntry](ctx, c, first)
}
