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

// content is the body of a response beside what the document says of it.
type content struct {
	media      *document.MediaType
	mediaType  string
	header     string // as it was sent
	parameters map[string]string
}

// contentOf finds the media type of a response in the document, which may have a range, as text/*. A client
// chooses its decoder by it, so nothing more is looked at if it is wrong.
func contentOf(described document.Content, x scenario.Interaction) (content, []scenario.Fault) {
	header := x.Header.Get("Content-Type")
	mediaType, parameters, err := mime.ParseMediaType(header)
	media := described.Get(header)
	if err != nil || media == nil {
		return content{}, one("media type", "content", fmt.Sprintf("the document does not list %q", header))
	}
	return content{media, mediaType, header, parameters}, nil
}

// body checks the body of a response against the schema for its media type. Where a response must not have more
// than the document names, that is looked at even if the schema allows it: schemas are open so that they may
// grow.
func (j *Judge) body(described document.Content, x scenario.Interaction) []scenario.Fault {
	found, faults := contentOf(described, x)
	if faults != nil {
		return faults
	}
	value, wrong := j.value(found, x)
	if !j.exact() || !document.IsJSON(found.mediaType) {
		return wrong
	}
	return slices.Concat(
		found.mediaTypeParameters(),
		schema.Unnamed("", value, found.media.Schema),
		wrong,
	)
}

// value checks a body against its schema, and returns the value of one that is JSON.
func (j *Judge) value(found content, x scenario.Interaction) (value any, wrong []scenario.Fault) {
	if document.IsJSON(found.mediaType) {
		return j.json(found, x)
	}
	return nil, j.text(found, x)
}

// text checks a body that is not JSON. A schema says something of texts only: OpenAPI has no rule for how other
// media types become values.
func (j *Judge) text(found content, x scenario.Interaction) []scenario.Fault {
	wanted := found.media.Schema
	if found.mediaType == scenario.EventStream && schema.TypeOf(wanted) != "string" {
		return j.events(wanted, x)
	}
	isText := strings.HasPrefix(found.mediaType, "text/") && schema.TypeOf(wanted) == "string"
	if !isText {
		return nil
	}
	faults := schema.Faults("body", wanted, string(x.Body))
	if found.mediaType == scenario.EventStream {
		_, wrong := x.Events()
		faults = append(faults, wrong...)
	}
	return faults
}

// events checks the data of each event against a schema that is not one of texts. What is no JSON ends many streams, as [DONE]
// does, and is no value of the schema.
func (j *Judge) events(wanted *schema.Schema, x scenario.Interaction) (faults []scenario.Fault) {
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

// json checks a body of JSON, and returns its value.
func (j *Judge) json(found content, x scenario.Interaction) (value any, wrong []scenario.Fault) {
	value, err := x.Value()
	if err != nil {
		return nil, one("body", "content", "is not one JSON value: "+err.Error())
	}
	return value, schema.Faults("body", found.media.Schema, value)
}

// mediaTypeParameters finds a charset, for example, which a strict client of JSON does not know.
func (c content) mediaTypeParameters() []scenario.Fault {
	message := fmt.Sprintf("%q: JSON has no parameters (RFC 8259, section 11)", c.header)
	return require(len(c.parameters) == 0, "media type", "content", message)
}
