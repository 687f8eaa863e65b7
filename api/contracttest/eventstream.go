package contracttest

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Event is one event of a stream of Server-Sent Events (HTML standard, section
// 9.2).
type Event struct {
	ID, Type, Data string
}

const eventStreamType = "text/event-stream"

func isEventStream(h http.Header) bool {
	mediaType, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return mediaType == eventStreamType
}

// Events returns the complete events in the body of an event stream, and what is
// wrong with its lines. It leaves out an event that the end of the body cuts off.
func (x Interaction) Events() (events []Event, faults []Fault) {
	var e Event
	begun := false
	lines := strings.SplitAfter(string(x.Body), "\n")
	for i, line := range lines {
		if !strings.HasSuffix(line, "\n") {
			break // cut off
		}
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			if begun {
				events = append(events, e)
			}
			e, begun = Event{}, false
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "": // a comment
			continue
		case "id":
			e.ID = value
		case "event":
			e.Type = value
		case "data":
			if e.Data != "" {
				e.Data += "\n"
			}
			e.Data += value
		case "retry":
		default:
			faults = append(faults, Fault{"body", eventStreamType, fmt.Sprintf("line %d has the unknown field %.40q", i+1, name)})
		}
		begun = true
	}
	return events, faults
}

// streams reports whether an operation responds with an event stream.
func (r *route) streams() bool {
	ok := r.response(http.StatusOK)
	return ok != nil && ok.Content[eventStreamType] != nil
}

// receive reads a body. Of an event stream, which may have no end, it reads until
// there is an event.
func receive(resp *http.Response) ([]byte, error) {
	if !isEventStream(resp.Header) {
		return io.ReadAll(resp.Body)
	}
	var received []byte
	part := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(part)
		received = append(received, part[:n]...)
		if events, _ := (Interaction{Body: received}).Events(); err == io.EOF || len(events) > 0 {
			return received, nil
		}
		if err != nil {
			return received, err
		}
	}
}
