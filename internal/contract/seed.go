package contract

import (
	"encoding/json"
	"fmt"
)

// checkSeed reads an answer with the eyes of a client that knows the seed and
// nothing else: a status that the seed documents must be what the seed says, any
// other must be readable as the seed's Error.
func checkSeed(seed *document, x Exchange) []Fault {
	route := seed.find(x.Method, x.Path)
	if route == nil {
		return nil
	}
	var faults []Fault
	if ref := route.operation.Responses.Status(x.Status); ref != nil {
		for _, f := range checkBody(ref.Value.Content, x) {
			if f.Keyword != "properties" { // the seed's schemas are open: members may have come since
				faults = append(faults, f)
			}
		}
	} else {
		var e struct {
			Error   *int32
			Message *string
		}
		if err := json.Unmarshal(x.Body, &e); err != nil || e.Error == nil || e.Message == nil {
			faults = append(faults, Fault{"body", "Error", fmt.Sprintf("status %d is not in the seed and the body is no Error", x.Status)})
		}
	}
	for i := range faults {
		faults[i].Where = "to a client of the seed, " + faults[i].Where
	}
	return faults
}
