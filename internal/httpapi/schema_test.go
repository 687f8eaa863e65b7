package httpapi

import (
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api"
)

// A body of a megabyte that is wrong every three bytes costs a few allocations
// to refuse, and not a few for each fault.
func TestRefusingIsCheap(t *testing.T) {
	ops, err := loadOperations(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	schema := ops[route{"POST", "/plants:batch"}].bodies[jsonType]
	value, err := new(decoder).decode([]byte(`{"plants":[`+strings.Repeat("{},", 300_000)+`{}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	details := schema.violations(value, true)
	if len(details) == 0 || details[0].Pointer != "/plants" {
		t.Errorf("details are %v, want /plants first", details)
	}
	if got := testing.AllocsPerRun(1, func() { schema.violations(value, true) }); got > 20_000 {
		t.Errorf("refusing it costs %.0f allocations", got)
	}
}
