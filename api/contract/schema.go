package contract

import (
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// rules say how values are held to schemas.
type rules struct {
	formats         map[string]func(text string) error // nil: any text
	maxFaults       int
	maxDepth        int // of JSON
	acceptsReadOnly bool
}

func newRules(options *Options) *rules {
	return &rules{
		formats:         newFormats(options.Formats),
		maxFaults:       options.MaxFaults,
		maxDepth:        options.MaxDepth,
		acceptsReadOnly: options.AcceptReadOnly,
	}
}

// schema is a schema of the document for a parameter or a body.
type schema struct {
	*node
	*rules
	counts
	remembers bool
}

// schema returns a schema of the document.
func (l *loader) schema(described *openapi3.SchemaRef) schema {
	return l.schemaOf(l.nodes.of(described))
}

func (l *loader) schemaOf(root *node) schema {
	root.prepare()
	made := schema{node: root, rules: l.rules, counts: counts{known: map[*node]int{}}}
	made.remembers = made.needsMemory(made.node)
	return made
}

// pattern returns a pattern.
func (l *loader) pattern(expression string) (jsonschema.Regexp, error) {
	made, err := newPattern(expression)
	l.need(err == nil, "the pattern %q cannot be read: %v", expression, err)
	return made, err
}

// faults returns what is wrong with a value, which is in a place of a request. A first visit finds only whether there is a
// fault.
func (s schema) faults(value any, in, prefix string) []Fault {
	first := s.visit(in, prefix)
	first.isSilent = true
	first.check(s.node, value)
	if !first.isWrong && !first.isTooComplex {
		return nil
	}
	all := s.visit(in, prefix)
	if all.check(s.node, value); first.isTooComplex || all.isTooComplex {
		return []Fault{{In: in, Pointer: prefix, Message: "is too complex: shorten its texts, which take too long to be matched with their patterns"}}
	}
	return all.faults
}

func (s schema) visit(in, prefix string) visit {
	made := visit{in: in, prefix: prefix, mostFaults: s.maxFaults, isRequest: s.hasReadOnly, isTracking: s.hasTracking}
	made.acceptsReadOnly = s.acceptsReadOnly
	if s.remembers {
		made.memory = &place{}
	}
	return made
}
