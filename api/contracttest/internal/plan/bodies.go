package plan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
	"github.com/plantstore/plantstore/api/contracttest/internal/values"
	"github.com/plantstore/plantstore/api/contracttest/report"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A body is wrong in one way only, and otherwise the plainest one with identities that nothing else has: so
// that a refusal can have no other reason, and neither can a success.

// bodies adds tests of the body: as it should be, in every way that its schema allows
// and forbids, of another media type, malformed, and missing.
func (m *singleMaker) bodies() {
	for _, variant := range m.Values.Variants(m.operation.BodySchema()) {
		if m.isStopped.Load() {
			break
		}
		if m.operation.HasJSON() || isOfField(variant) {
			m.bodyVariant(variant)
		}
	}
	m.bodyExamples()
	m.mediaTypes()
	if m.operation.NeedsBody() {
		required := scenario.Promise{Kind: scenario.BodyPresence, Keyword: "required", Duty: scenario.MustRefuse}
		m.addBody("no body", required, nil).refused(scenario.MissingBody, "", "")
	} else {
		optional := scenario.Promise{Kind: scenario.BodyPresence, Keyword: "optional", Duty: scenario.MustAccept}
		m.addBody("no body", optional, nil).header.Del("Content-Type")
	}
	for _, text := range values.RobustnessBodies {
		survived := scenario.Promise{Kind: scenario.BodyRobustness, Duty: scenario.MustSurvive}
		c := m.addBody(fmt.Sprintf("robustness, body: %q", text), survived, []byte(text))
		c.changed = &scenario.Violation{Kind: scenario.InvalidBody, In: "body"}
	}
	if m.operation.HasJSON() {
		m.malformed()
	}
}

// keptInText are the keywords that a value breaks also where all is text.
var keptInText = []string{"required", "enum", "minLength", "maxLength", "pattern", "minimum", "maximum", "multipleOf"}

// isOfField reports whether a variant can be tested of a form, in which all values are text: a valid one of the whole form, or
// one of a field that is as valid, or invalid, if it is written as text.
func isOfField(variant values.Variant) bool {
	isEmpty := variant.Value == any("") // an empty text is no body
	isField := strings.Count(variant.Pointer, "/") == 1
	switch {
	case variant.Pointer == "":
		return variant.Keyword == "type" && variant.Valid && !isEmpty
	case !isField, strings.Contains(variant.Pointer, schema.UnknownMember):
		return false
	case variant.Valid:
		return variant.Keyword != "nullable"
	}
	return slices.Contains(keptInText, variant.Keyword)
}

// plainBody is the plainest body, each time with new identities: with those of another test a create would be refused.
func (m *singleMaker) plainBody() []byte {
	return jsonvalue.Encode(m.Values.Base(m.operation.BodySchema()))
}

// addBody adds a test with a body that is sent as it is, whatever is wrong with it.
func (m *singleMaker) addBody(name string, promise scenario.Promise, body []byte) *single {
	c := m.add(name, promise)
	c.body = bytes.Clone(body) // its buffer is larger, and all of them are kept
	return c
}

// addValue adds a test with a body that is made of a value. Its identities may be those of other tests, as the
// ends of a range are: what has them is removed before.
func (m *singleMaker) addValue(name string, promise scenario.Promise, value any) *single {
	c := m.addBody(name, promise, jsonvalue.Encode(value))
	c.shared = m.Values.SharedIdentities(m.operation.BodySchema(), value)
	return c
}

// bodyVariant adds a test of a variant, or, if the variant has an unknown member, one with each of the names that the member
// gets. A variant that no value can be made for is only demanded.
//
//	{"name": ""}          refused, where the document says "minLength: 1"
//	{"name": "F"}         accepted
func (m *singleMaker) bodyVariant(variant values.Variant) {
	at := variant.Pointer
	if variant.Keyword == "additionalProperties" {
		at = strings.TrimSuffix(at, "/"+schema.UnknownMember) // the object forbids it
	}
	promise := scenario.Promise{
		Operation: m.operation.ID, Kind: scenario.BodyKeyword, Place: values.Place(at), Keyword: variant.Keyword, Duty: variant.Duty(),
	}
	if variant.Demand {
		m.demand(promise)
		return
	}
	described := m.operation.BodySchema()
	for i, name := range m.unknownNames(variant) {
		renamed := variant
		if i > 0 { // the first test has created one with the identity of the variant
			renamed.Value = m.withFreshIdentity(variant.Value)
		}
		// Most variants have no such member, and to look for it takes long.
		if name != schema.UnknownMember {
			renamed = m.Values.Renamed(described, renamed, name)
		}
		c := m.addValue("", promise, renamed.Value)
		c.keeps = values.Place(renamed.Pointer)
		c.name = fmt.Sprintf("%s: %.60s", report.Name(promise), c.body)
		if !variant.Valid {
			c.refused(scenario.InvalidBody, "body", renamed.Pointer)
		}
	}
}

// unknownNames are the names that an unknown member of a variant gets: of those that services have failed on, all in the body
// itself, if that takes any member, and one that is drawn elsewhere. If there is no unknown member, it is the name that
// changes nothing.
func (m *singleMaker) unknownNames(variant values.Variant) []string {
	drawn := values.RobustnessNames[m.Values.Below(len(values.RobustnessNames))]
	isWhole := variant.Keyword == "additionalProperties" && variant.Pointer == ""
	switch {
	case !bytes.Contains(jsonvalue.Encode(variant.Value), []byte(schema.UnknownMember)):
		return []string{schema.UnknownMember}
	case isWhole && !m.Few:
		return values.RobustnessNames
	}
	return []string{drawn}
}

// withFreshIdentity is the plainest body, with the unknown member of a value: a body like it that has another identity.
func (m *singleMaker) withFreshIdentity(value any) any {
	fresh := jsonvalue.Object(m.Values.Base(m.operation.BodySchema()))
	if fresh == nil {
		return value
	}
	fresh[schema.UnknownMember] = jsonvalue.Object(value)[schema.UnknownMember]
	return fresh
}

// bodyExamples adds a test of each named example: its author has promised that it is accepted.
func (m *singleMaker) bodyExamples() {
	examples := m.operation.BodyExamples()
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		value := jsonvalue.Normal(examples[name])
		// If it does not fit, the document is wrong, and its reader has said so.
		if m.Values.Fits(m.operation.BodySchema(), value) {
			m.addValue("example "+name, scenario.Promise{Kind: scenario.BodyExample, Place: name}, value)
		}
	}
}

// mediaTypes adds tests of the media type of the body, and of others that the document does not have. A charset other than
// UTF-8 is wrong for JSON (RFC 8259, section 8.1).
func (m *singleMaker) mediaTypes() {
	mediaType, _ := m.operation.Body()
	others := []string{"application/xml"}
	accepted := scenario.Promise{Kind: scenario.MediaTypeOfBody, Place: mediaType, Duty: scenario.MustAccept}
	refused := scenario.Promise{Kind: scenario.MediaTypeOfBody, Place: mediaType, Duty: scenario.MustRefuse}
	exactly := m.addBody("media type, accepted", accepted, m.plainBody())
	if m.Rules.StrictMediaTypes {
		exactly.header.Set("Content-Type", mediaType+"; charset=utf-8")
		others = []string{"", "text/plain", "application/xml", mediaType + "; charset=utf-16", mediaType + "x"}
	}
	for _, other := range others {
		if m.operation.Content.Get(other) != nil {
			continue // a media type range covers it
		}
		c := m.addBody(fmt.Sprintf("media type %q", other), refused, m.plainBody())
		c.refused(scenario.WrongMediaType, "", "").header.Set("Content-Type", other)
	}
}

// formRobustness adds a test of a form that is announced only, without a body and without the boundary of its parts: some
// services look for them in any request that may have a body, and fail.
func (m *singleMaker) formRobustness() {
	c := m.add("robustness, media type", scenario.Promise{Kind: scenario.MediaTypeRobustness, Duty: scenario.MustSurvive})
	c.header.Set("Content-Type", "multipart/form-data")
	c.body = nil
	c.changed = &scenario.Violation{Kind: scenario.InvalidBody, In: "body"}
}

// malformed adds tests of bodies that are not JSON, or, with StrictJSON, none that a strict reader takes. They are made from the
// plainest body, so that nothing else is wrong with them; what it lacks, as the text Ficus, leaves a test out.
func (m *singleMaker) malformed() {
	plain := string(m.plainBody())
	type text struct{ name, body string }
	texts := []text{{"trailing byte", plain + "x"}, {"not JSON", "plant"}}
	// Without its last byte, a body may still be JSON: of 12 it is 1.
	if truncated := plain[:len(plain)-1]; !jsontext.Value(truncated).IsValid() {
		texts = slices.Insert(texts, 0, text{"truncated", truncated})
	}
	if m.Rules.StrictJSON {
		texts = append(texts,
			text{"trailing value", plain + "{}"},
			text{"not UTF-8", strings.Replace(plain, "Ficus", "\xff", 1)},
			text{"lone surrogate", strings.Replace(plain, "Ficus", `\ud800`, 1)},
			text{"duplicate name", strings.Replace(plain, "{", `{"x":1,"x":1,`, 1)},
			text{"nested deep", strings.Repeat("[", 100) + strings.Repeat("]", 100)},
		)
	}
	promise := scenario.Promise{Kind: scenario.WellFormedBody, Duty: scenario.MustRefuse}
	for _, malformed := range texts {
		if malformed.body != plain {
			c := m.addBody("malformed body: "+malformed.name, promise, []byte(malformed.body))
			c.refused(scenario.MalformedBody, "", "")
		}
	}
}
