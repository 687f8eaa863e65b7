package client

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantclient"
)

// A Position is a place in the changes of a service. It is opaque: store it as text.
type Position string

// A Change is a plant that has changed.
type Change struct {
	Position Position `json:"position"` // after this change
	ID       int64    `json:"id"`
	Plant    *Plant   `json:"plant,omitempty"` // its present state; nil: the plant was deleted

	ChangedBy string `json:"changed_by,omitempty"` // who made the last change; empty: not known
}

// Changes returns what has changed after a position, and waits for more. An empty
// position begins with all plants, so a program that begins with an empty copy and
// applies every change has the plants of the service. Keep the position of the last
// change with the copy, to continue there later. A plant can appear more than once.
//
// After the first response, Changes sends a request again for as long as ctx lives:
// [WithAttempts] does not end it. The loop ends with an error: ctx.Err() if ctx has ended,
// or that of a response that is final, such as [ErrBadCredentials]. After [ErrPositionGone],
// begin again with an empty position and an empty copy. A [Replica] does all that for a copy
// in memory. This is the loop of a program that keeps its copy elsewhere:
//
//	for {
//		for change, err := range c.Changes(ctx, position) {
//			if errors.Is(err, client.ErrPositionGone) {
//				break
//			} else if err != nil {
//				return err
//			}
//			store(change) // replaces or removes the plant, and keeps change.Position
//			position = change.Position
//		}
//		clearStore()
//		position = ""
//	}
func (c *Client) Changes(ctx context.Context, after Position) iter.Seq2[Change, error] {
	return c.changes(ctx, after, c.wait)
}

// ChangesUntilNow is [Client.Changes], but the loop ends, without an error, after the last
// change so far. It ends also while other clients write, and may leave out their changes
// during the loop.
func (c *Client) ChangesUntilNow(ctx context.Context, after Position) iter.Seq2[Change, error] {
	return c.changes(ctx, after, 0)
}

// Now returns the position after the last change so far. From there, [Client.Changes]
// returns only what changes after this call, for a program that needs no copy of all plants.
func (c *Client) Now(ctx context.Context) (Position, error) {
	page, err := c.changesPage(ctx, plantapi.ListChangesParams{From: new(plantapi.FromNow)})
	return page.Position, err
}

func (c *Client) changes(ctx context.Context, after Position, wait int32) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		client, current := c, ctx
		for {
			page, err := client.changesAfter(current, after, wait)
			if err != nil {
				yield(Change{}, err)
				return
			}
			for _, change := range page.Changes {
				if !yield(change, nil) {
					return
				}
			}
			if wait > 0 {
				client, current = c.patient(ctx)
			} else if page.last() {
				return
			}
			after = page.Position
		}
	}
}

// changesPage is a page of changes.
type changesPage struct {
	Changes  []Change `json:"changes"`
	Position Position `json:"position"`
	More     bool     `json:"more"`
}

// last reports whether nothing followed when the page was read without waiting.
func (p changesPage) last() bool { return !p.More || len(p.Changes) == 0 }

// changesAfter reads the page after a position. Its error at the end of the context is
// that of the context.
func (c *Client) changesAfter(ctx context.Context, after Position, wait int32) (changesPage, error) {
	params := plantapi.ListChangesParams{Limit: new(int32(1000))}
	if after != "" {
		params.After = (*string)(&after)
	}
	if wait > 0 {
		params.Wait = &wait
	}
	page, err := c.changesPage(ctx, params)
	if ctx.Err() != nil {
		return page, ctx.Err()
	}
	if err == nil && len(page.Changes) > 0 && page.Position == after { // a broken service: do not loop for ever
		err = fmt.Errorf("plantstore: list changes: the position after %q is the same", after)
	}
	return page, err
}

// changesPage reads a page.
func (c *Client) changesPage(ctx context.Context, params plantapi.ListChangesParams) (page changesPage, err error) {
	list := request{name: "list changes", result: &page}
	list.made(plantclient.NewListChangesRequest(c.server, &params))
	list.isComplete = func() bool { return page.Position != "" && page.Changes != nil }
	_, _, err = c.do(ctx, list)
	return page, err
}

// waitWithin returns for how many seconds a request waits for changes if an attempt
// may take so long: it leaves time for the response.
func waitWithin(timeout time.Duration) int32 {
	const most = 30 // by the document
	half := timeout / 2 / time.Second
	if timeout == 0 {
		return most
	}
	return int32(min(max(1, half), most))
}
