package judge

import (
	"fmt"
	"mime"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// TwoOracles is the keyword of a fault that only one judge sees.
const TwoOracles = "two oracles"

// content is the body of a response beside what the document says of it.
type content struct {
	media      *openapi3.MediaType
	mediaType  string
	header     string // as it was sent
	parameters map[string]string
}

// contentOf finds the media type of a response in the document.
func contentOf(described openapi3.Content, x scenario.Interaction) (content, []scenario.Fault) {
	header := x.Header.Get("Content-Type")
	mediaType, parameters, err := mime.ParseMediaType(header)
	media := described.Get(mediaType)
	if err != nil || media == nil {
		return content{}, one("media type", "content", fmt.Sprintf("the document does not list %q", header))
	}
	return content{media, mediaType, header, parameters}, nil
}

// body checks the body of a response against the schema for its media type.
func (j *Judge) body(operation *document.Operation, described openapi3.Content, x scenario.Interaction) []scenario.Fault {
	found, faults := contentOf(described, x)
	if faults != nil {
		return faults
	}
	if !document.IsJSON(found.mediaType) {
		return found.text(x)
	}
	value, wrong, unnamed := found.json(x)
	if j.exact() {
		faults = append(found.mediaTypeParameters(), unnamed...)
	}
	isJudged := value != nil && found.media.Schema != nil
	if isJudged {
		place := operation.ResponsePlace(x.Status, found.media)
		if err := j.Second.Differs(len(wrong) == 0, value.decoded, schema.Received, place...); err != nil {
			faults = append(faults, one("body", TwoOracles, err.Error())...)
		}
	}
	return append(faults, wrong...)
}

// text checks a body that is not JSON. A schema says something of texts only.
func (c content) text(x scenario.Interaction) []scenario.Fault {
	wanted := schema.Of(c.media.Schema)
	if !strings.HasPrefix(c.mediaType, "text/") || !wanted.Type.Is("string") {
		return nil
	}
	faults := schema.Faults("body", wanted, string(x.Body), schema.Received)
	if c.mediaType == scenario.EventStream {
		_, wrong := x.Events()
		faults = append(faults, wrong...)
	}
	return faults
}

// parsed is a body that is JSON, of which the value may be null.
type parsed struct{ decoded any }

// json checks a body of JSON. What it says more than its schema is apart from what is wrong.
func (c content) json(x scenario.Interaction) (value *parsed, wrong, unnamed []scenario.Fault) {
	decoded, err := jsonvalue.Decode(x.Body)
	if err != nil {
		return nil, one("body", "content", "is not one JSON value: "+err.Error()), nil
	}
	value = &parsed{decoded}
	if c.media.Schema == nil {
		return value, nil, nil
	}
	wanted := c.media.Schema.Value
	beyond, unnamed := schema.WithoutUnnamed(schema.Beyond("", decoded, wanted))
	return value, append(schema.Faults("body", wanted, decoded, schema.Received), beyond...), unnamed
}

func (c content) mediaTypeParameters() []scenario.Fault {
	if len(c.parameters) == 0 {
		return nil
	}
	return one("media type", "content", fmt.Sprintf("%q: JSON has no parameters (RFC 8259, section 11)", c.header))
}
