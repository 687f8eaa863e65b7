package document

import (
	"testing"
)

// The examples of OpenAPI 3.0.3, "Style Examples": members of objects are in the order of their names here.
func TestWritten(t *testing.T) {
	t.Parallel()
	array := []any{"blue", "black"}
	object := map[string]any{"B": 150, "R": 100}
	for _, c := range []struct {
		in, style string
		explode   bool
		value     any
		want      string // empty: it cannot be written
	}{
		{"path", "simple", false, "blue", "blue"},
		{"path", "simple", false, array, "blue,black"},
		{"path", "simple", false, object, "B,150,R,100"},
		{"path", "simple", true, object, "B=150,R=100"},
		{"path", "simple", false, "a/b", ""},
		{"path", "simple", false, "a b", "a%20b"},
		{"path", "label", false, array, ".blue,black"},
		{"path", "label", true, array, ".blue.black"},
		{"path", "label", true, object, ".B=150.R=100"},
		{"path", "matrix", false, array, ";color=blue,black"},
		{"path", "matrix", true, array, ";color=blue;color=black"},
		{"path", "matrix", false, object, ";color=B,150,R,100"},
		{"path", "matrix", true, object, ";B=150;R=100"},
		{"query", "form", false, array, "color=blue,black"},
		{"query", "form", true, array, "color=blue&color=black"},
		{"query", "form", false, object, "color=B,150,R,100"},
		{"query", "form", true, object, "B=150&R=100"},
		{"query", "form", true, "", "color="},
		{"query", "form", true, []any{""}, ""},
		{"query", "form", true, []any{}, ""},
		{"query", "form", false, []any{"a,b"}, ""},
		{"query", "form", true, []any{"a,b"}, "color=a%2Cb"},
		{"query", "form", true, nil, ""},
		{"query", "odd", false, "blue", ""},
		{"query", "spaceDelimited", false, array, "color=blue%20black"},
		{"query", "spaceDelimited", false, []any{"a b"}, ""},
		{"query", "pipeDelimited", false, []any{"a|b"}, ""},
		{"path", "label", false, []any{"a.b"}, ""},
		{"path", "label", true, []any{"a.b"}, ""},
		{"path", "matrix", false, []any{"a;b"}, ""},
		{"query", "pipeDelimited", false, array, "color=blue%7Cblack"},
		{"query", "pipeDelimited", true, array, "color=blue&color=black"},
		{"query", "pipeDelimited", false, object, ""},
		{"query", "deepObject", true, object, "color%5BB%5D=150&color%5BR%5D=100"},
		{"header", "simple", false, array, "blue,black"},
		{"header", "simple", true, array, "blue,black"},
		{"header", "simple", true, []any{"a,b"}, ""},
		{"path", "simple", true, []any{"a,b"}, ""},
		{"header", "simple", false, " blue", ""},
		{"cookie", "form", false, "blue", "color=blue"},
		{"cookie", "form", true, "blue", "color=blue"},
		{"cookie", "form", false, array, "color=blue,black"},
		{"cookie", "form", true, map[string]any{"B": 150}, ""},
		{"cookie", "form", true, array, ""},
		{"cookie", "form", false, "a;b", ""},
	} {
		parameter := &Parameter{Name: "color", In: c.in, Style: c.style, Explode: &c.explode}
		got, ok := Written(parameter, c.value)
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s, %s, explode %t: %v is written as %q, %t; want %q", c.in, c.style, c.explode, c.value, got, ok, c.want)
		}
	}
}

// Without explode in the document only the style form explodes.
func TestExplodeIsLeftOut(t *testing.T) {
	t.Parallel()
	for style, want := range map[string]string{"form": "color=a&color=b", "spaceDelimited": "color=a%20b"} {
		parameter := &Parameter{Name: "color", In: "query", Style: style}
		if got, _ := Written(parameter, []any{"a", "b"}); got != want {
			t.Errorf("%s is written as %q, want %q", style, got, want)
		}
	}
}
