package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/http"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
	"github.com/plantstore/plantstore/internal/feed"
	"github.com/plantstore/plantstore/internal/plant"
)

// ListChanges waits until there is a change or ctx ends; see waitingRoom. Then
// only a token that is not accepted any more is a failure: a client that closes its
// sending half, and the clients of a service that stops, get what there is.
func (s *server) ListChanges(
	ctx context.Context, request plantserver.ListChangesRequestObject,
) (plantserver.ListChangesResponseObject, error) {
	began := time.Now()
	after, err := parsePosition(plantapi.InQuery, "after", request.Params.After)
	if err == nil {
		after, err = s.begin(ctx, after, request.Params.From)
	}
	if err != nil {
		return nil, err
	}
	n, wait := pageSize(request.Params.Limit), time.Duration(0)
	if request.Params.Wait != nil {
		wait = time.Duration(*request.Params.Wait) * time.Second
	}
	page, err := s.next(ctx, after, n, wait)
	switch cause, refused := errors.AsType[*failure](context.Cause(ctx)); {
	case refused && cause != errStopping:
		return nil, cause
	case ctx.Err() != nil && err != nil:
		page, err = s.next(context.WithoutCancel(ctx), after, n, 0)
	}
	if err != nil {
		return nil, err
	}
	changes := make([]plantapi.Change, len(page.Changes)) // never nil, which would be null
	for i := range page.Changes {
		changes[i] = s.toChange(&page.Changes[i])
	}
	return changesResponse{response{
		body:         &plantapi.Changes{Changes: changes, Position: positionText(page.Next), More: !page.IsLast(began)},
		cacheControl: cacheControl,
	}, s.Changes.Stopped()}, nil
}

// begin returns the position at which a request begins: that of the client, nil for all
// plants, or that of the last change. The walk of all plants goes on with the changes after
// that one, so its end is where a walk that has just begun ends.
func (s *server) begin(
	ctx context.Context, after *plant.Position, from *plantapi.ListChangesParamsFrom,
) (*plant.Position, error) {
	if after != nil || from == nil || *from != plantapi.FromNow {
		return after, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestDeadline)
	defer cancel()
	_, now, err := s.Plants.Changes(ctx, nil, 1)
	now.Walk = nil
	return &now, err
}

// next returns the next page of at most n changes, or an empty one after the wait.
func (s *server) next(ctx context.Context, after *plant.Position, n int, wait time.Duration) (*feed.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+requestDeadline)
	defer cancel()
	return s.Changes.Next(ctx, after, n, wait)
}

// changesResponse is a page of changes.
type changesResponse struct {
	response
	stopping <-chan struct{}
}

func (r changesResponse) VisitListChangesResponse(w http.ResponseWriter) error {
	select {
	case <-r.stopping:
		closeConnection(w)
	default:
	}
	// The write time-out of the server began before the wait.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(readTime))
	return r.write(w)
}

func (s *server) toChange(c *plant.Change) plantapi.Change {
	change := plantapi.Change{Position: positionText(c.Position), ID: c.ID, ChangedBy: s.shown(&c.ChangedBy)}
	if c.Plant != nil {
		change.Plant = new(s.toStoredPlant(c.Plant))
	}
	return change
}

// StreamChanges reads the first page, so that a position that is not valid is a
// response with 410. [stream] is the rest.
func (s *server) StreamChanges(
	ctx context.Context, request plantserver.StreamChangesRequestObject,
) (plantserver.StreamChangesResponseObject, error) {
	after, err := parsePosition(plantapi.InQuery, "after", request.Params.After)
	if request.Params.LastEventID != nil {
		after, err = parsePosition(plantapi.InHeader, "Last-Event-ID", request.Params.LastEventID)
	}
	if err != nil {
		return nil, err
	}
	page, err := s.next(context.WithoutCancel(ctx), after, mostOnPage, 0)
	if err != nil {
		return nil, err
	}
	return &stream{ctx: ctx, server: s, first: page}, nil
}

// positionText returns a position as clients see it: 36 bytes in base64url. They are
// 1 for a position of a walk or else 0, four numbers, and the end of a CRC-32, so that
// a text that was cut off or mistyped is found. The checksum does not keep clients from
// making up positions; [plant.Feed] checks the numbers.
func positionText(p plant.Position) string {
	b, last := make([]byte, 1, 36), int64(p.Index)
	if p.Walk != nil {
		b[0], last = 1, *p.Walk // a position of a walk has no index
	}
	for _, n := range []int64{p.Epoch, p.At, p.Seen, last} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	sum := crc32.ChecksumIEEE(b)
	return base64.RawURLEncoding.EncodeToString(append(b, byte(sum>>16), byte(sum>>8), byte(sum)))
}

// parsePosition returns the position in a parameter, or nil if it is not given.
func parsePosition(in plantapi.ErrorDetailIn, name string, text *string) (*plant.Position, error) {
	if text == nil {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(*text)
	if err == nil && len(b) == 36 {
		number := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[1+8*i:])) }
		p := plant.Position{Epoch: number(0), At: number(1), Seen: number(2)}
		if b[0] == 0 {
			p.Index = int(number(3))
		} else {
			p.Walk = new(number(3))
		}
		if positionText(p) == *text {
			return &p, nil
		}
	}
	return nil, invalidParameters(plantapi.ErrorDetail{
		In: in, Pointer: "/" + name, Message: "is not a position: send one of an earlier response, complete and unchanged",
	})
}
