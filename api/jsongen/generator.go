package main

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

//go:embed prelude.txt
var prelude string

// generator writes the functions of one schema after the other.
type generator struct {
	types   map[string]ast.Expr
	code    strings.Builder
	schemas []string // that have functions
}

// schema generates the functions of a schema. A schema that is neither an object
// nor an array is part of others and needs none.
func (g *generator) schema(name string, members []string) (err error) {
	var encode, bind string
	switch t := g.types[name].(type) {
	case *ast.Ident:
		return nil
	case *ast.StructType:
		fields, err := fieldsOf(t, members)
		if err != nil {
			return err
		}
		if encode, err = g.appendObject(fields); err != nil {
			return err
		}
		if bind, err = g.bindObject(fields); err != nil {
			return err
		}
	case *ast.ArrayType:
		if encode, err = g.appendValue(t, "*v"); err != nil {
			return err
		}
		if bind, err = g.bindValue(t, "into"); err != nil {
			return err
		}
		bind = "return " + bind
	default:
		return fmt.Errorf("the models have no object or array of this name")
	}
	fmt.Fprintf(&g.code, "func append%s(b []byte, v *%[1]s) []byte {\n%s\nreturn b\n}\n\n", name, encode)
	fmt.Fprintf(&g.code, "func bind%s(value any, into *%[1]s) error {\n%s\n}\n\n", name, bind)
	g.schemas = append(g.schemas, name)
	return nil
}

// file returns the whole file.
func (g *generator) file() []byte {
	var appends, binds strings.Builder
	for _, name := range g.schemas {
		fmt.Fprintf(&appends, "case *%s:\nreturn append%[1]s(b, v)\n", name)
		fmt.Fprintf(&binds, "case *%s:\nreturn bind%[1]s(value, into)\n", name)
	}
	return []byte(strings.NewReplacer("APPENDS", appends.String(), "BINDS", binds.String()).Replace(prelude) + g.code.String())
}

func (g *generator) appendObject(fields []field) (string, error) {
	code := "start := len(b)\n"
	for _, f := range fields {
		t, v := f.typ, "v."+f.name
		present := ""
		if pointer, ok := t.(*ast.StarExpr); ok {
			t, v, present = pointer.X, "*"+v, v+" != nil"
		} else if isNullable(t) {
			present = v + ".IsSpecified()"
		}
		if f.optional != (present != "") {
			return "", fmt.Errorf("member %q: an optional member must be a pointer or nullable", f.member)
		}
		value, err := g.appendValue(t, v)
		if err != nil {
			return "", fmt.Errorf("member %q: %w", f.member, err)
		}
		member := fmt.Sprintf("b = append(b, `,%q:`...)\n%s\n", f.member, value)
		if f.optional {
			member = fmt.Sprintf("if %s {\n%s}\n", present, member)
		}
		code += member
	}
	return code + "b = enclosed(b, start, '{', '}')", nil
}

// appendValue returns the code that appends the value v to b.
func (g *generator) appendValue(t ast.Expr, v string) (string, error) {
	switch g.basic(t) {
	case "string":
		return fmt.Sprintf("b = appendString(b, string(%s))", v), nil
	case "int32", "int64":
		return fmt.Sprintf("b = strconv.AppendInt(b, int64(%s), 10)", v), nil
	case "bool":
		return fmt.Sprintf("b = strconv.AppendBool(b, bool(%s))", v), nil
	case "time.Time":
		return fmt.Sprintf("b = appendTime(b, %s)", v), nil
	}
	switch t := t.(type) {
	case *ast.ArrayType:
		item, err := g.appendValue(t.Elt, "*item")
		return fmt.Sprintf("{\nstart := len(b)\nfor i := range %s {\nitem := &(%[1]s)[i]\nb = append(b, ',')\n%s\n}\nb = enclosed(b, start, '[', ']')\n}", v, item), err
	case *ast.IndexExpr:
		if isNullable(t) {
			value, err := g.appendValue(t.Index, "value")
			return fmt.Sprintf("if value, err := %s.Get(); err != nil {\nb = append(b, `null`...)\n} else {\n%s\n}", v, value), err
		}
	case *ast.Ident:
		if g.types[t.Name] != nil {
			return fmt.Sprintf("b = append%s(b, %s)", t.Name, pointerTo(v)), nil
		}
	}
	return "", fmt.Errorf("type %s is not implemented", types.ExprString(t))
}

func (g *generator) bindObject(fields []field) (string, error) {
	code := "object, ok := value.(map[string]any)\nif !ok {\nreturn mismatch(value, into)\n}\n"
	for _, f := range fields {
		bind, err := g.bindValue(f.typ, "&into."+f.name)
		if err != nil {
			return "", fmt.Errorf("member %q: %w", f.member, err)
		}
		code += fmt.Sprintf("if value, ok := object[%q]; ok {\nif err := %s; err != nil {\nreturn fmt.Errorf(\"%s: %%w\", err)\n}\n}\n", f.member, bind, f.member)
	}
	return code + "return nil", nil
}

// bindValue returns the call that binds the value to what the pointer into points
// at.
func (g *generator) bindValue(t ast.Expr, into string) (string, error) {
	switch g.basic(t) {
	case "string":
		return "bindString(value, " + into + ")", nil
	case "int32", "int64":
		return "bindInt(value, " + into + ")", nil
	case "bool":
		return "bindBool(value, " + into + ")", nil
	case "time.Time":
		return "bindTime(value, " + into + ")", nil
	}
	var outer string
	var part ast.Expr
	switch t := t.(type) {
	case *ast.Ident:
		if g.types[t.Name] != nil {
			return "bind" + t.Name + "(value, " + into + ")", nil
		}
	case *ast.StarExpr:
		outer, part = "bindPointer", t.X
	case *ast.ArrayType:
		outer, part = "bindArray", t.Elt
	case *ast.IndexExpr:
		if isNullable(t) {
			outer, part = "bindNullable", t.Index
		}
	}
	if part == nil {
		return "", fmt.Errorf("type %s is not implemented", types.ExprString(t))
	}
	inner, err := g.bindValue(part, "into")
	return fmt.Sprintf("%s(value, %s, func(value any, into *%s) error { return %s })", outer, into, types.ExprString(part), inner), err
}

// basic returns the name of the basic type that a type has underneath, or "".
func (g *generator) basic(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.SelectorExpr:
		return types.ExprString(t)
	case *ast.Ident:
		if named := g.types[t.Name]; named != nil {
			return g.basic(named)
		}
		return t.Name
	}
	return ""
}

// pointerTo returns a pointer to the value v.
func pointerTo(v string) string {
	if pointer, ok := strings.CutPrefix(v, "*"); ok {
		return pointer
	}
	return "&" + v
}

func isNullable(t ast.Expr) bool {
	index, ok := t.(*ast.IndexExpr)
	return ok && types.ExprString(index.X) == "nullable.Nullable"
}
