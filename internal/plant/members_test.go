package plant

import (
	"reflect"
	"slices"
	"testing"
)

// A field that clients write must count in Same, and a text in JSONSize. This test
// finds a field that one of them forgets.
func TestSameAndSize(t *testing.T) {
	const text = "12345"
	for f := range reflect.TypeFor[Plant]().Fields() {
		if slices.Contains([]string{"ETag", "CreatedAt", "UpdatedAt"}, f.Name) { // the store sets them
			continue
		}
		var p Plant
		size := len(text)
		switch field := reflect.ValueOf(&p).Elem().FieldByIndex(f.Index).Addr().Interface().(type) {
		case *int64:
			*field, size = 1, 0
		case *string:
			*field = text
		case **string:
			*field = new(text)
		default:
			t.Fatalf("this test does not know the type of %s", f.Name)
		}
		isContent := f.Name != "ChangedBy"
		if p.Same(Plant{}) == isContent || (Plant{}).Same(p) == isContent || !p.Same(p) {
			t.Errorf("Same in internal/plant/plant.go ignores %s, or compares what is no content", f.Name)
		}
		if (p.JSONSize() - (Plant{}).JSONSize()) < size {
			t.Errorf("JSONSize in internal/plant/pagesize.go, with a %s of %q, is %d, want at least %d more than without it",
				f.Name, text, p.JSONSize(), size)
		}
	}
}
