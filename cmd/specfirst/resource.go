package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// resource is a noun with its fields: what the command add writes. The books of the example are one, too.
type resource struct {
	one, many string  // such as book and books, which are also the words of Go, SQL and paths
	key       field   // which the client chooses
	fields    []field // at least one
	keySchema string  // the name of the schema of the key; empty: that of the resource and the key

	module, basePath string // of the service
	isSecured        bool   // its operations need credentials
}

// field is a member of a resource.
type field struct {
	name       string // in the document and in the table
	wire       string // the name that generated code has
	kind       kind
	values     []string // of an enum
	isOptional bool

	schema string // in the document; empty: that of the kind
}

// kind is what a type is in each language.
type kind struct {
	name   string
	schema string // in the document
	code   string // in Go
	column string // in SQL
	read   string // the method that reads a column
	sample string // a value for tests, as Go code
}

var kinds = []kind{
	{name: "string", schema: "{type: string, maxLength: 1000}", code: "string", column: "TEXT", read: "ColumnText"},
	{name: "integer", schema: "{type: integer, format: int64}", code: "int64", column: "INTEGER", read: "ColumnInt64", sample: "7"},
	{name: "number", schema: "{type: number, format: double}", code: "float64", column: "REAL", read: "ColumnFloat", sample: "1.5"},
	{name: "boolean", schema: "{type: boolean}", code: "bool", column: "INTEGER", read: "ColumnBool", sample: "true"},
	{
		name: "date", schema: "{type: string, format: date}", code: "types.Date", column: "TEXT", read: "ColumnText",
		sample: "types.Date{Time: time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)}",
	},
}

// enum is the kind of values with slashes between them.
var enum = kind{name: "enum", code: "string", column: "TEXT", read: "ColumnText"}

// keySchemas are those of keys. They are parts of paths.
var keySchemas = map[string]string{
	"string":  "{type: string, minLength: 1, maxLength: 100, pattern: '^[0-9A-Za-z_-]+$'}",
	"integer": "{type: integer, format: int64, minimum: 1}",
}

// wordsOfSQL cannot be names in a statement without quotes.
const wordsOfSQL = " add all alter and as autoincrement between case cast check collate commit constraint create default deferrable " +
	"delete distinct drop else escape except exists foreign from group having in index insert intersect into is isnull join limit not " +
	"nothing notnull null on or order primary raise references returning select set table then to transaction union unique update " +
	"using values when where "

var (
	validNoun  = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)
	validField = regexp.MustCompile(`^[a-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$`)
	validValue = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
)

// newResource reads the words of the command line: names, and fields as in title:string.
func newResource(one, many, key string, required, optional []string) (*resource, error) {
	if many == "" {
		many = pluralOf(one)
	}
	r := &resource{one: one, many: many}
	err := checkNouns(one, many)
	if err != nil {
		return nil, err
	}
	if r.key, err = newField(key); err != nil {
		return nil, fmt.Errorf("--key: %w", err)
	}
	if r.key.schema = keySchemas[r.key.kind.name]; r.key.schema == "" {
		return nil, fmt.Errorf("--key: a key is a string or an integer, got %s", key)
	}
	if isTaken(r.key.name) {
		return nil, fmt.Errorf("--key: %s is a word of Go, or a name that the code has already: give another one", r.key.name)
	}
	for i, text := range slices.Concat(required, optional) {
		each, err := newField(text)
		if err != nil {
			return nil, fmt.Errorf("--field: %w", err)
		}
		each.isOptional = i >= len(required)
		r.fields = append(r.fields, each)
	}
	return r, r.checkFields()
}

// pluralOf returns the plural of a noun as most have it.
func pluralOf(one string) string {
	isAfterVowel := len(one) > 1 && strings.ContainsAny(one[len(one)-2:len(one)-1], "aeiou")
	switch {
	case strings.HasSuffix(one, "y") && !isAfterVowel:
		return strings.TrimSuffix(one, "y") + "ies"
	case regexp.MustCompile(`(s|x|ch|sh)$`).MatchString(one):
		return one + "es"
	}
	return one + "s"
}

func checkNouns(one, many string) error {
	for _, noun := range []string{one, many} {
		if !validNoun.MatchString(noun) {
			return fmt.Errorf("the name of a resource must be a noun with a lower-case letter first, as in book or orderLine, got %q", noun)
		}
		if isTaken(noun) {
			return fmt.Errorf("%s is a word of Go, or a name that the code has already: give another one", noun)
		}
	}
	if one == many {
		return fmt.Errorf("the plural of %s is the same word: give another one with --plural", one)
	}
	if isOfSQL(many) {
		return fmt.Errorf("%s is a word of SQL: give another one with --plural", many)
	}
	return nil
}

func isOfSQL(word string) bool { return strings.Contains(wordsOfSQL, " "+strings.ToLower(word)+" ") }

func newField(text string) (field, error) {
	name, word, _ := strings.Cut(text, ":")
	f := field{name: name, kind: enum}
	switch {
	case !validField.MatchString(name):
		return f, fmt.Errorf("write a name and a type, as in title:string, with a lower-case letter first, got %q", text)
	case isOfSQL(name):
		return f, fmt.Errorf("%s is a word of SQL: give the field another name", name)
	}
	if i := slices.IndexFunc(kinds, func(each kind) bool { return each.name == word }); i >= 0 {
		f.kind = kinds[i]
		return f, nil
	}
	f.values = strings.Split(word, "/")
	isWrong := func(value string) bool { return !validValue.MatchString(value) }
	if len(f.values) < 2 || slices.ContainsFunc(f.values, isWrong) {
		return f, fmt.Errorf("%s has the type %q, want string, integer, number, boolean, date, or the values of an enum, as in lent/free", name, word)
	}
	return f, nil
}

// checkFields finds names that are the same in Go or SQL.
func (r *resource) checkFields() error {
	if len(r.fields) == 0 {
		return fmt.Errorf("%s has nothing beside its key: add --field title:string", r.one)
	}
	names := map[string]string{}
	for _, each := range append([]field{r.key}, r.fields...) {
		plain := strings.ToLower(strings.ReplaceAll(each.name, "_", ""))
		if other, isTwice := names[plain]; isTwice {
			return fmt.Errorf("the names %s and %s are the same in Go: give one of them another name", other, each.name)
		}
		names[plain] = each.name
	}
	return nil
}

// isTaken reports whether a name is a word of Go, or one that the files of the example use beside that of the books.
func isTaken(name string) bool {
	return token.IsKeyword(name) || types.Universe.Lookup(name) != nil || slices.Contains(namesOfExample(), name)
}

// namesOfExample returns the names in the code that add derives from, but for those of the books.
func namesOfExample() []string {
	found := map[string]bool{}
	for _, name := range codeFiles {
		file, _ := parser.ParseFile(token.NewFileSet(), name, exampleFile(name), parser.SkipObjectResolution) // it was compiled
		ast.Inspect(file, func(node ast.Node) bool {
			if ident, isName := node.(*ast.Ident); isName {
				found[ident.Name] = true
			}
			return true
		})
	}
	for _, own := range []string{books.one, books.many, books.key.name} {
		delete(found, own)
	}
	return slices.Collect(maps.Keys(found))
}
