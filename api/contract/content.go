package contract

import (
	"cmp"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Media types that are not JSON and are read.
const (
	binaryType    = "application/octet-stream"
	formType      = "application/x-www-form-urlencoded"
	multipartType = "multipart/form-data"
)

// content is a body of one media type, or of a range of them.
type content struct {
	mediaType  string
	parameters map[string]string // of the media type in the document
	schema     schema
	fields     map[string]*parameter
	beginning  *content          // what a multipart form must be before its first file
	contents   map[string]string // media types of the fields of a form
	maxBytes   int64
	isChecked  bool // or else the handler gets it as it is
}

// content returns what a body of a media type must be.
func (l *loader) content(key string, described *openapi3.MediaType, options *Options) *content {
	mediaType, parameters, err := mime.ParseMediaType(key)
	l.need(err == nil, "media type %q is not valid: %v", key, err)
	described = cmp.Or(described, &openapi3.MediaType{})
	loaded := &content{
		mediaType:  mediaType,
		parameters: parameters,
		schema:     l.schema(described.Schema),
		maxBytes:   cmp.Or(options.MaxBodies[mediaType], options.MaxBody),
	}
	delete(loaded.parameters, "charset") // it is checked for all of them
	beginning := *loaded
	beginning.schema = l.schemaOf(beginningOf(loaded.schema.node, map[*node]*node{}))
	isForm := mediaType == formType || mediaType == multipartType
	if isForm {
		l.setFields(loaded, described.Encoding)
		l.setFields(&beginning, described.Encoding)
	}
	loaded.beginning = &beginning
	return loaded
}

// decoderOf returns the decoder of a media type, or nil.
func (c *content) decoderOf(mediaType string) bodyDecoder {
	isText := strings.HasPrefix(mediaType, "text/")
	isBytes := c.schema.types == typeString || c.schema.types == 0 && !c.schema.isCombined()
	switch {
	case isJSON(mediaType):
		return (*content).decodeJSON
	case mediaType == formType || mediaType == multipartType:
		return (*content).decodeForm
	case isText && !isXML(mediaType) && !scalars(c.schema.node).has(typeObject|typeArray):
		return (*content).decodeText
	case mediaType == binaryType || isBytes:
		return (*content).decodeBinary
	}
	return nil
}

// isJSON reports whether a media type, or each of a range, may be JSON.
func isJSON(mediaType string) bool {
	return strings.HasSuffix(mediaType, "/json") || strings.HasSuffix(mediaType, "+json")
}

func isXML(mediaType string) bool {
	return strings.HasSuffix(mediaType, "/xml") || strings.HasSuffix(mediaType, "+xml")
}

// setContents sets what the body of an operation may be. What cannot be checked is left out beside what can.
func (l *loader) setContents(operation *Operation, described *openapi3.RequestBody, options *Options) {
	operation.bodyRequired = described.Required
	var unchecked []string
	for _, key := range slices.Sorted(maps.Keys(described.Content)) {
		loaded := l.content(key, described.Content[key], options)
		isRange := strings.Contains(loaded.mediaType, "*")
		isNamed := slices.Contains(options.Unchecked, loaded.mediaType)
		loaded.isChecked = isRange || loaded.decoderOf(loaded.mediaType) != nil
		if !loaded.isChecked && !isNamed {
			unchecked = append(unchecked, loaded.mediaType)
			continue
		}
		operation.contents = append(operation.contents, loaded)
	}
	slices.SortStableFunc(operation.contents, func(a, b *content) int {
		return cmp.Or(cmp.Compare(strings.Count(a.mediaType, "*"), strings.Count(b.mediaType, "*")),
			cmp.Compare(len(b.mediaType), len(a.mediaType)), cmp.Compare(len(b.parameters), len(a.parameters)))
	})
	names := strings.Join(unchecked, ", ")
	isAlone := len(operation.contents) == 0
	switch {
	case len(unchecked) == 0:
	case isAlone:
		l.problems = append(l.problems, &UncheckedError{l.place, unchecked})
	default:
		l.note("media type %s is refused: it cannot be checked", names)
	}
}

// contentOf returns what the media type of a request says about its body, and that type.
func (o *Operation) contentOf(header http.Header) (found *content, mediaType string, err error) {
	if !strings.EqualFold(cmp.Or(header.Get("Content-Encoding"), "identity"), "identity") {
		return nil, "", unsupported("Content-Encoding is not supported: send the body as it is")
	}
	contentType := strings.Join(header["Content-Type"], ", ")
	for _, each := range o.contents {
		if each.mediaType == contentType && len(each.parameters) == 0 && contentType != multipartType { // most are
			return each, contentType, nil
		}
	}
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err == nil {
		found = o.match(mediaType, parameters)
	}
	if found == nil {
		return nil, "", o.wrongMediaType(contentType)
	}
	if mediaType == multipartType && parameters["boundary"] == "" {
		return nil, "", unsupported("Content-Type multipart/form-data has no boundary: " +
			"let the library of the client set this header; with curl, use -F and no header")
	}
	isUTF8 := strings.EqualFold(cmp.Or(parameters["charset"], "utf-8"), "utf-8")
	if !isUTF8 && mediaType != binaryType {
		return nil, "", unsupported("charset must be utf-8")
	}
	return found, mediaType, nil
}

// match returns the most exact content of a media type: one with its parameters, one without, or a range.
func (o *Operation) match(mediaType string, parameters map[string]string) (found *content) {
	for _, each := range o.contents {
		isReadable := each.mediaType == mediaType || each.decoderOf(mediaType) != nil
		if !isReadable || !isInRange(mediaType, each.mediaType) {
			continue
		}
		if hasAll(parameters, each.parameters) {
			return each
		}
		found = cmp.Or(found, each)
	}
	return found
}

// isInRange reports whether a media type is one of a range, such as application/*+json.
func isInRange(mediaType, wanted string) bool {
	begin, end, isRange := strings.Cut(wanted, "*")
	if !isRange || wanted == "*/*" {
		return isRange || mediaType == wanted
	}
	return strings.HasPrefix(mediaType, begin) && strings.HasSuffix(mediaType, end)
}

func hasAll(given, wanted map[string]string) bool {
	for name, value := range wanted {
		if given[name] != value {
			return false
		}
	}
	return true
}

func (o *Operation) wrongMediaType(contentType string) *Refusal {
	var wanted []string
	for _, each := range o.contents {
		wanted = append(wanted, each.mediaType)
	}
	slices.Sort(wanted)
	return unsupported(fmt.Sprintf("Content-Type must be %s, got %s%s",
		strings.Join(wanted, " or "), shorten(cmp.Or(contentType, "none")), hintOf(wanted[0])))
}

// hintOf says how a body of a media type is sent.
func hintOf(mediaType string) string {
	switch {
	case mediaType == multipartType:
		return ": with curl, use -F"
	case strings.Contains(mediaType, "*"):
		return ""
	}
	return ": with curl, add -H 'Content-Type: " + mediaType + "'"
}

func unsupported(message string) *Refusal {
	return &Refusal{Kind: UnsupportedMediaType, Message: message}
}
