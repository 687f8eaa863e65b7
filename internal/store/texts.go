package store

import (
	"fmt"
	"strings"

	"github.com/plantstore/plantstore/internal/plant"
)

// LongTextsError means that plants of an earlier release have texts that are longer than
// [plant.MaxName] or [plant.MaxTag].
type LongTextsError struct {
	IDs []int64 // of these plants
}

func (e LongTextsError) Error() string {
	const most = 10
	ids := fmt.Sprint(e.IDs[:min(len(e.IDs), most)])
	ids = strings.ReplaceAll(strings.Trim(ids, "[]"), " ", ", ")
	if len(e.IDs) > most {
		ids += ", …"
	}
	return fmt.Sprintf("plants of an earlier release have a name of more than %d characters or a tag of more than %d (%d in all; their ids: %s): "+
		"back up the store, then run plantstore migrate --shorten-texts", plant.MaxName, plant.MaxTag, len(e.IDs), ids)
}
