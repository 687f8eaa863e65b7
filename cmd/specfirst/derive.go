package main

import (
	"cmp"
	"fmt"
	"go/format"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// books are the resource of the example. The files of another one are those of the books, in which each fragment and each word
// that is of the books is replaced.
var books = resource{
	one: "book", many: "books", keySchema: "ISBN",
	key: field{name: "isbn", wire: "Isbn", kind: kinds[0], schema: "{type: string, minLength: 10, maxLength: 17, example: '9780140449136'}"},
	fields: []field{
		{name: "title", wire: "Title", kind: kinds[0], schema: "{type: string, minLength: 1, maxLength: 500}"},
		{name: "author", wire: "Author", kind: kinds[0], schema: "{type: string, maxLength: 200}", isOptional: true},
		{name: "year", wire: "Year", kind: kinds[1], schema: "{type: integer, format: int64, minimum: 0, maximum: 9999}", isOptional: true},
	},
}

// derive replaces the books in a text of the example.
func (r *resource) derive(text string) string {
	pairs := []string{exampleModule, r.module} // its last part has a word of the books
	others := r.fragments()
	for i, own := range books.fragments() {
		pairs = append(pairs, own, others[i])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// deriveCode replaces the books in a Go file of the example, and imports what the fields need.
func (r *resource) deriveCode(text string) (string, error) {
	code := r.derive(text)
	if r.key.kind.name == "integer" {
		code = strings.NewReplacer(`"net/url"`, `"strconv"`, "\t\"fmt\"\n", "").Replace(code)
	}
	if strings.Contains(code, "types.Date") {
		code = strings.Replace(code, "\n\n\t\"", "\n\n\t\"github.com/oapi-codegen/runtime/types\"\n\t\"", 1)
	}
	if strings.Contains(code, "time.UTC") {
		code = strings.Replace(code, "\t\"testing\"\n", "\t\"testing\"\n\t\"time\"\n", 1)
	}
	formatted, err := format.Source([]byte(code))
	return string(formatted), err
}

// fragments returns what differs in the files of two resources, in the same order for each. What is part of another
// fragment comes after it.
func (r *resource) fragments() []string {
	key, title := r.key, upperFirst(r.one)
	all := append([]field{key}, r.fields...)
	name := func(f field) string { return f.name }
	return []string{
		// The document.
		"    " + r.nameOfKey() + ": " + key.schema + "\n" + r.enums(),
		"schemas/" + r.nameOfKey() + "'",
		r.content(),

		// The store.
		"type " + title + " struct {\n" + structFields(all) + "}",
		list(all, name) + ")",
		list(all, name) + " FROM",
		list(all, func(field) string { return "?" }) + ")",
		list(r.fields, func(f field) string { return f.name + " = ?" }) + " WHERE",
		wrap(list(r.fields, func(f field) string { return f.argument(r.one) })),
		r.scan(all),
		key.name + " " + key.kind.code,
		"from " + key.kind.code,

		// The operations.
		literal(key.code() + ": body." + key.wire + ", " + list(r.fields, field.fromBody)),
		literal(key.code() + ": request." + key.wire + ", " + list(r.fields, field.fromBody)),
		r.location(),
		"defaultLimit, " + r.zeroOfKey(),
		literal(key.wire + ": " + r.one + "." + key.code() + ", " + list(r.fields, func(f field) string { return f.toWire(r.one) })),

		// The test.
		literal(key.wire + ": " + r.sampleOfKey() + ", " + list(r.fields, func(f field) string { return f.wire + ": " + f.sample(title) })),

		// Words.
		"their " + key.word(), "its " + key.word(),
		article(r.one), r.many, upperFirst(r.many), r.one, title, key.code(), key.wire, key.name,
	}
}

func list(fields []field, text func(field) string) string {
	var texts []string
	for _, each := range fields {
		texts = append(texts, text(each))
	}
	return strings.Join(texts, ", ")
}

// wide is the length from which a list is broken into lines. Those of the books are shorter.
const wide = 110

// wrap breaks the arguments of a call.
func wrap(list string) string {
	var out strings.Builder
	length := 0
	for item := range strings.SplitSeq(list, ", ") {
		switch {
		case out.Len() == 0:
		case length+len(item) > wide:
			out.WriteString(",\n")
			length = 0
		default:
			out.WriteString(", ")
		}
		out.WriteString(item)
		length += len(item) + len(", ")
	}
	return out.String()
}

// literal gives each field of a struct a line, if they are too many for one.
func literal(fields string) string {
	if len(fields) <= wide {
		return fields
	}
	return "\n" + betweenFields.ReplaceAllString(fields, ",\n$1") + ",\n"
}

// betweenFields is the comma before the name of a field. Values have others, as in time.Date(2026, time.May).
var betweenFields = regexp.MustCompile(`, ([A-Z][A-Za-z0-9]*: )`)

func upperFirst(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// article returns a word with its article.
func article(word string) string {
	if strings.ContainsAny(word[:1], "aeio") {
		return "an " + word
	}
	return "a " + word
}

// code returns the name of a field in code that people write.
func (f field) code() string {
	var name strings.Builder
	for _, word := range strings.Split(f.name, "_") {
		if slices.Contains([]string{"id", "url", "isbn", "api", "ip", "uuid"}, word) {
			name.WriteString(strings.ToUpper(word))
		} else {
			name.WriteString(upperFirst(word))
		}
	}
	return name.String()
}

// word returns the name of a field in a sentence.
func (f field) word() string {
	if code := f.code(); code == strings.ToUpper(code) {
		return code
	}
	return f.name
}

func (f field) isDate() bool { return f.kind.name == "date" }

// nameOfKey is the name of the schema of the key.
func (r *resource) nameOfKey() string { return cmp.Or(r.keySchema, upperFirst(r.one)+r.key.code()) }

// enums returns the schemas of enums.
func (r *resource) enums() string {
	var out strings.Builder
	for _, each := range r.fields {
		if len(each.values) > 0 {
			fmt.Fprintf(&out, "    %s: {type: string, enum: [%s]}\n", upperFirst(r.one)+each.code(), strings.Join(each.values, ", "))
		}
	}
	return out.String()
}

func (r *resource) nameOfEnums() (names []string) {
	for _, each := range r.fields {
		if len(each.values) > 0 {
			names = append(names, upperFirst(r.one)+each.code())
		}
	}
	return names
}

// content returns what the schema of the content has.
func (r *resource) content() string {
	isOptional := func(f field) bool { return f.isOptional }
	required := slices.DeleteFunc(slices.Clone(r.fields), isOptional)
	var out strings.Builder
	if len(required) > 0 {
		fmt.Fprintf(&out, "      required: [%s]\n", list(required, func(f field) string { return f.name }))
	}
	out.WriteString("      properties:\n")
	for _, each := range r.fields {
		schema := cmp.Or(each.schema, each.kind.schema)
		if len(each.values) > 0 {
			schema = "{$ref: '#/components/schemas/" + upperFirst(r.one) + each.code() + "'}"
		}
		fmt.Fprintf(&out, "        %s: %s\n", each.name, schema)
	}
	return out.String()
}

// structFields returns the fields of a struct as gofmt aligns them.
func structFields(fields []field) string {
	width := 0
	for _, each := range fields {
		width = max(width, len(each.code()))
	}
	var out strings.Builder
	for _, each := range fields {
		star := ""
		if each.isOptional {
			star = "*"
		}
		fmt.Fprintf(&out, "\t%-*s %s%s\n", width, each.code(), star, each.kind.code)
	}
	return out.String()
}

// step returns the statement that makes the table.
func (r *resource) step() string {
	columns := list(r.fields, func(f field) string {
		if f.isOptional {
			return f.name + " " + f.kind.column
		}
		return f.name + " " + f.kind.column + " NOT NULL"
	})
	return fmt.Sprintf("\t`CREATE TABLE %s (%s %s PRIMARY KEY, %s) STRICT, WITHOUT ROWID;`,\n", r.many, r.key.name, r.key.kind.column, columns)
}

// argument returns a field as an argument of a statement.
func (f field) argument(noun string) string {
	if f.isOptional {
		return "nullable(" + noun + "." + f.code() + ")"
	}
	return noun + "." + f.code()
}

// scan returns the code that reads a row.
func (r *resource) scan(all []field) string {
	const indent = "\t\t\t"
	var first []string
	var others strings.Builder
	for i, each := range all {
		column := fmt.Sprintf("row.%s(%d)", each.kind.read, i)
		target := r.one + "." + each.code()
		set := target + " = new(" + column + ")\n"
		if each.isDate() {
			set = "if err := " + target + ".UnmarshalText([]byte(" + column + ")); err != nil {\nreturn err\n}\n"
		}
		switch {
		case each.isOptional && each.isDate():
			fmt.Fprintf(&others, "\nif !row.ColumnIsNull(%d) {\n%s = new(types.Date)\n%s}", i, target, set)
		case each.isOptional:
			fmt.Fprintf(&others, "\n%sif !row.ColumnIsNull(%d) {\n\t%s%s%s}", indent, i, indent, set, indent)
		case each.isDate():
			fmt.Fprintf(&others, "\n%s", strings.TrimSuffix(set, "\n"))
		default:
			first = append(first, each.code()+": "+column)
		}
	}
	return fmt.Sprintf("%s := %s{%s}%s", r.one, upperFirst(r.one), strings.Join(first, ", "), others.String())
}

// fromBody sets a field of the store from the body of a request.
func (f field) fromBody() string {
	value := "body." + f.wire
	switch {
	case len(f.values) > 0 && f.isOptional:
		value = "(*string)(" + value + ")"
	case len(f.values) > 0:
		value = "string(" + value + ")"
	}
	return f.code() + ": " + value
}

// toWire sets a field of a response from one of the store.
func (f field) toWire(noun string) string {
	value, enum := noun+"."+f.code(), "server."+upperFirst(noun)+f.code()
	switch {
	case len(f.values) > 0 && f.isOptional:
		value = "(*" + enum + ")(" + value + ")"
	case len(f.values) > 0:
		value = enum + "(" + value + ")"
	}
	return f.wire + ": " + value
}

// location returns the path of what was created.
func (r *resource) location() string {
	key := r.one + "." + r.key.code()
	if r.key.kind.name == "integer" {
		return strconv.Quote(r.basePath+"/"+r.many+"/") + " + strconv.FormatInt(" + key + ", 10)"
	}
	return strconv.Quote(r.basePath+"/"+r.many+"/") + " + url.PathEscape(" + key + ")"
}

func (r *resource) zeroOfKey() string {
	if r.key.kind.name == "integer" {
		return "int64(0)"
	}
	return `""`
}

func (r *resource) sampleOfKey() string {
	if r.key.kind.name == "integer" {
		return "int64(i + 1)"
	}
	return `fmt.Sprintf("%010d", i)`
}

// sample returns a value for tests.
func (f field) sample(title string) string {
	value := f.kind.sample
	switch f.kind.name {
	case "string":
		value = strconv.Quote(article(f.name))
	case "enum":
		value = strconv.Quote(f.values[0])
	}
	switch {
	case !f.isOptional:
		return value
	case f.kind.name == "enum":
		return "new(client." + title + f.code() + "(" + value + "))"
	case f.kind.name == "integer":
		return "new(int64(" + value + "))"
	}
	return "new(" + value + ")"
}
