package judge

import (
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// content is the media type of a response, and what the document says of bodies of it.
type content struct {
	media      *document.MediaType
	mediaType  string // without its parameters
	header     string // as it was sent
	parameters map[string]string
}

// contentOf finds the media type of a response in the document, which may list a range, as text/*. Where it is not listed,
// the body is not looked at: a client would not know how to decode it.
func contentOf(described document.Content, x scenario.Interaction) (content, []scenario.Fault) {
	header := x.Header.Get("Content-Type")
	mediaType, parameters, err := mime.ParseMediaType(header)
	media := described.Get(header)
	if err != nil || media == nil {
		return content{}, one("media type", "content", fmt.Sprintf("the document does not list %q", header))
	}
	return content{media: media, mediaType: mediaType, header: header, parameters: parameters}, nil
}

// body checks the body of a response against the schema for its media type. If the options say that a response must not have
// more than the document names, an unnamed member is a fault even where the schema allows it: schemas are open so that they
// may grow.
func (j *Judge) body(described document.Content, x scenario.Interaction) []scenario.Fault {
	found, faults := contentOf(described, x)
	if faults != nil {
		return faults
	}
	value, faults := found.value(x)
	if !j.exact() || !document.IsJSON(found.mediaType) {
		return faults
	}
	return slices.Concat(
		found.mediaTypeParameters(),
		schema.Unnamed("", value, found.media.Schema),
		faults,
	)
}

// value checks a body against its schema, and returns the value of one that is JSON.
func (c content) value(x scenario.Interaction) (value any, faults []scenario.Fault) {
	if !document.IsJSON(c.mediaType) {
		return nil, c.text(x)
	}
	value, err := x.Value()
	if err != nil {
		return nil, one("body", "content", "is not one JSON value: "+err.Error())
	}
	return value, schema.Faults("body", c.media.Schema, value)
}

// text checks a body that is not JSON: a text, or a stream of events, which a schema may describe as one text or event by
// event. OpenAPI has no rule for how other media types become values, so no such body is wrong.
func (c content) text(x scenario.Interaction) []scenario.Fault {
	wanted := c.media.Schema
	isString := schema.TypeOf(wanted) == "string"
	isStream := c.mediaType == scenario.EventStream
	switch {
	case isStream && isString:
		_, faults := x.Events()
		return append(schema.Faults("body", wanted, string(x.Body)), faults...)
	case isStream:
		return eventFaults(wanted, x)
	case isString && strings.HasPrefix(c.mediaType, "text/"):
		return schema.Faults("body", wanted, string(x.Body))
	}
	return nil
}

// eventFaults checks the data of each event against a schema. Data that is not JSON is no fault: many streams end with such
// an event, as [DONE].
func eventFaults(wanted *schema.Schema, x scenario.Interaction) (faults []scenario.Fault) {
	events, _ := x.Events() // clients ignore an unknown field
	for i, event := range events {
		value, err := jsonvalue.Decode([]byte(event.Data))
		if err != nil {
			continue
		}
		for _, fault := range schema.Faults("event", wanted, value) {
			fault.Message += fmt.Sprintf(", in event %d", i+1)
			faults = append(faults, fault)
		}
	}
	return faults
}

// mediaTypeParameters finds parameters of JSON, as charset, which a strict client does not know.
func (c content) mediaTypeParameters() []scenario.Fault {
	message := fmt.Sprintf("%q: JSON has no parameters (RFC 8259, section 11)", c.header)
	return require(len(c.parameters) == 0, "media type", "content", message)
}
