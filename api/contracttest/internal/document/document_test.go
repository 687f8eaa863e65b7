package document

import (
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

const document = `
openapi: 3.0.3
info: {title: Small, version: "1"}
paths:
  /things/{id}:
    get:
      operationId: getThing
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}, example: 3}
      responses: {"200": {description: A thing.}}
`

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		template, path string
		want           bool
	}{
		{"/plants", "/plants", true},
		{"/plants", "/plants/", false},
		{"/plants/{id}", "/plants/1", true},
		{"/plants/{id}", "/plants/", false},
		{"/plants/{id}", "/plants/1/2", false},
		{"/plants/{id}", "/plants/1%2F2", true},
		{"/plants:batch", "/plants:batch", true},
		{"/plants/{id}.json", "/plants/1.json", true},
		{"/plants/{id}.json", "/plants/1xjson", false},
	} {
		text := strings.Replace(document, "/things/{id}", c.template, 1)
		if !strings.Contains(c.template, "{") {
			text = strings.Replace(text, "        - {name: id, in: path, required: true, schema: {type: integer}, example: 3}\n", "        []\n", 1)
		}
		d, err := Parse([]byte(text))
		must.NoError(t, err)
		if got := d.HasPath(c.path); got != c.want {
			t.Errorf("%s has the path %s: %v, want %v", c.template, c.path, got, c.want)
		}
	}
}
