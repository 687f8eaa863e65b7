package scenario

import (
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// EventStream is the media type of Server-Sent Events.
const EventStream = "text/event-stream"

// IsEventStream reports whether a response is a stream of Server-Sent Events.
func IsEventStream(header http.Header) bool {
	mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type")) // empty, if it is not well-formed
	return mediaType == EventStream
}

// Event is one event of a stream of Server-Sent Events (HTML standard, section 9.2).
type Event struct {
	ID, Type, Data string
}

// Events returns the complete events in the body of an event stream, and what is wrong with its lines.
// It leaves out an event that the end of the body cuts off.
func (x Interaction) Events() (events []Event, faults []Fault) {
	var event Event
	begun := false
	for i, line := range strings.SplitAfter(string(x.Body), "\n") {
		line, complete := strings.CutSuffix(line, "\n")
		switch {
		case !complete:
			return events, faults
		case line == "" && begun:
			events = append(events, event)
			event = Event{}
			begun = false
		case line == "", strings.HasPrefix(line, ":"): // a comment
		default:
			begun = true
			if unknown := event.add(line); unknown != "" {
				message := fmt.Sprintf("line %d has the unknown field %.40q", i+1, unknown)
				faults = append(faults, Fault{Where: "body", Keyword: EventStream, Message: message})
			}
		}
	}
	return events, faults
}

// add adds a line to an event. It returns the name of a field that the standard does not have.
func (e *Event) add(line string) (unknown string) {
	field, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch field {
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
		return field
	}
	return ""
}
