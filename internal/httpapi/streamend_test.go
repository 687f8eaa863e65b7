package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/store/sqlite"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/wait"
	"github.com/plantstore/plantstore/internal/token"
)

// A stream that has to end within an event, for example because its token expires, sends
// nothing after it. The end event would become a part of it.
func TestStreamEndsWithinAnEvent(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, err := sqlite.Open(t.Context(), sqlite.Memory)
				tokens := opened(t, store, err)
				mine, text := token.New("laptop", []token.Scope{token.Read}, time.Second)
				must.NoError(t, tokens.CreateToken(t.Context(), mine))
				get, _ := servePipesTo(t, &oneChange{}, tokens, text, http2)
				resp, err := get("/changes:stream")
				must.NoError(t, err)
				defer resp.Body.Close()
				time.Sleep(1300 * time.Millisecond) // the token has expired, and the stream does not wait for its client any more
				body, err := io.ReadAll(resp.Body)
				if !strings.HasPrefix(string(body), "id: ") || strings.Contains(string(body), "\n\n") ||
					strings.Contains(string(body), "event") {
					t.Errorf("the stream has %d bytes from %.40q to %q, %v, want a part of an event", len(body), body,
						body[max(0, len(body)-200):], err)
				}
			})
		})
	}
}

// The operator can see which streams were cut off. A client that disconnects is normal.
func TestStreamThatIsCutOffIsLogged(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		for _, disconnects := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, disconnects %v", name, disconnects), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					log := &logged{}
					get, ended := servePipesTo(t, &oneChange{}, noTokens{}, staticToken, http2, withLog(log))
					resp, err := get("/changes:stream")
					must.NoError(t, err)
					defer resp.Body.Close()
					if disconnects {
						resp.Body.Close()
					}
					wait.For(t, "the end of the stream", ended)
					synctest.Wait() // until it is logged
					lines := log.lines(t)
					if disconnects && len(lines) == 0 {
						return
					}
					if disconnects || len(lines) != 1 || lines[0].Msg != "response cut short" ||
						lines[0].Status != 499 || lines[0].Operation != "streamChanges" {
						t.Errorf("logged %+v", lines)
					}
				})
			})
		}
	}
}

// failingFeed is a store that has no second page of changes.
type failingFeed struct {
	plant.Store
	err error
}

func (s failingFeed) Changes(ctx context.Context, after *plant.Position, limit int) ([]plant.Change, plant.Position, error) {
	if after != nil {
		return nil, plant.Position{}, s.err
	}
	return s.Store.Changes(ctx, after, limit)
}

// If the store fails, the client of a stream is told, and the operator sees the cause.
func TestStreamEndsWithItsStore(t *testing.T) {
	t.Parallel()
	for cause, code := range map[error]plantapi.ErrorCode{
		errors.New("disk full of eels"):                             plantapi.CodeInternal,
		fmt.Errorf("disk full of eels: %w", plant.ErrUnavailable):   plantapi.CodeUnavailable,
		fmt.Errorf("temporary file of eels: %w", plant.ErrDiskFull): plantapi.CodeUnavailable,
	} {
		t.Run(cause.Error(), func(t *testing.T) {
			t.Parallel()
			log := &logged{}
			s := newService(t, withLog(log), wrapPlants(func(real plant.Store) plant.Store { return failingFeed{real, cause} }))
			s.post(`{"id":1,"name":"n"}`)
			s.follow("").want("stored 1", fmt.Sprint("end ", code), "EOF") // which comes after the log
			if lines := log.lines(t); len(lines) != 1 || lines[0].Operation != "streamChanges" ||
				!strings.Contains(lines[0].Err, "eels") {
				t.Errorf("logged %+v, want the cause", lines)
			}
		})
	}
}
