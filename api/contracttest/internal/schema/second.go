package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
)

// SecondJudge is a judge of values beside kin-openapi: santhosh-tekuri/jsonschema, with schemas that are
// translated from the document as it is published (jsonschema.go).
//
// With a document of OpenAPI 3.1, a service that validates with kin-openapi uses jsonschema, too. The
// engine does not let it, see package document. So the two judge independently of each other, and the
// first one independently of such a service.
type SecondJudge struct {
	translator jsonSchemas

	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema // by direction and place; nil: it cannot be compiled
}

// NewSecondJudge returns the second judge for a document. modern means OpenAPI 3.1 or later: its
// schemas are JSON Schema 2020-12.
func NewSecondJudge(published map[string]any, modern bool) *SecondJudge {
	return &SecondJudge{translator: jsonSchemas{root: published, modern: modern}, compiled: map[string]*jsonschema.Schema{}}
}

// Differs compares the verdict of the first judge with that on the value by the schema at a place of
// the document, and returns how they differ.
func (s *SecondJudge) Differs(allowed bool, value any, direction Direction, place ...string) error {
	err := s.Judge(value, direction, place...)
	agrees := allowed == (err == nil)
	switch {
	case agrees, errors.Is(err, ErrNotCompiled):
		return nil
	case err == nil:
		return errors.New("jsonschema allows it, but not kin-openapi")
	}
	return fmt.Errorf("kin-openapi allows it, but not jsonschema: %s", strings.ReplaceAll(err.Error(), "\n", ""))
}

// ErrNotCompiled means that there is no schema at a place, or none that jsonschema can compile.
var ErrNotCompiled = errors.New("the schema cannot be compiled")

// Judge returns what is wrong with a value by the schema at a place of the document.
func (s *SecondJudge) Judge(value any, direction Direction, place ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(direction, place)
	compiled, known := s.compiled[key]
	if !known {
		compiled, _ = s.compile(direction, place) // without one, there is no second judge
		s.compiled[key] = compiled
	}
	if compiled == nil {
		return ErrNotCompiled
	}
	return compiled.Validate(jsonvalue.Normal(value))
}

// compile makes a schema of the one at a place. It has all the schemas that this one refers to, and
// reads nothing else.
func (s *SecondJudge) compile(direction Direction, place []string) (*jsonschema.Schema, error) {
	root := s.translator.root
	var node any = root
	for _, token := range place {
		node = jsonvalue.Object(jsonvalue.Resolve(root, node))[token]
	}
	if node == nil {
		return nil, ErrNotCompiled
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // it loads nothing
	compiler.UseRegexpEngine(compileForSecondJudge)
	registerFormats(compiler)
	const name = "contract:schema"
	if err := compiler.AddResource(name, s.translator.whole(node, direction)); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

// registerFormats replaces formats of jsonschema: it knows no byte, and takes too much for the others.
// Integers have formats of the engine.
func registerFormats(compiler *jsonschema.Compiler) {
	for _, name := range []string{"byte", "email", "uri", "uri-reference"} {
		check := Formats[name].Check
		compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(value any) error {
			if text, isText := value.(string); isText {
				return check(text)
			}
			return nil
		}})
	}
	for _, bits := range []int{32, 64} {
		compiler.RegisterFormat(&jsonschema.Format{Name: integerFormat(bits), Validate: func(value any) error {
			number, isNumber := value.(json.Number)
			if !isNumber {
				return nil
			}
			_, err := strconv.ParseInt(string(number), 10, bits)
			return err
		}})
	}
}

func integerFormat(bits int) string { return fmt.Sprint("integer of ", bits) }
