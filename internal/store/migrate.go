package store

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/plantstore/plantstore/internal/plant"
)

// Migrations returns the statements of the files migrations/*.sql of an engine, in the
// order of their names.
func Migrations(files embed.FS) (all []string) {
	names, _ := fs.Glob(files, "migrations/*.sql") // sorted
	for _, name := range names {
		text, _ := files.ReadFile(name) // a part of the program, so there is no error
		all = append(all, string(text))
	}
	return all
}

// ShortenTexts shortens the texts of an earlier release that are too long, and calls
// shorten with each of their plants as it was. Without shorten, they are an error. The
// IDs are those of plants that may have such texts; the result has those that do.
func ShortenTexts(ids []int64, shorten func(plant.Plant),
	read func(id int64) (plant.Plant, error), update func(PlantRow) error,
) (long []int64, err error) {
	for _, id := range ids {
		p, err := read(id)
		if err != nil {
			return nil, err
		}
		row := NewPlantRow(p.Shortened(), &p)
		if row.Same(p) {
			continue
		}
		long = append(long, id)
		if shorten == nil {
			continue
		}
		if err := update(row); err != nil {
			return nil, err
		}
		shorten(p)
	}
	if shorten == nil && len(long) > 0 {
		return nil, LongTextsError{long}
	}
	return long, nil
}

// IndexNames calls index with one page of all plants after the other. It stores the keys of
// their names and returns the plants. IndexNames calls progress with the number of plants so
// far.
func IndexNames(index func(plant.Page) ([]plant.Plant, error), progress func(plants int)) error {
	page := plant.Page{Limit: 1000}
	for n := 0; ; {
		plants, err := index(page)
		if err != nil || len(plants) == 0 {
			return err
		}
		n += len(plants)
		progress(n)
		page.After = &plants[len(plants)-1].ID
	}
}

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
	return fmt.Sprintf("plants of an earlier release have a name of more than %d characters or a tag of more than %d "+
		"(%d in all; their ids: %s): back up the store, then run plantstore migrate --shorten-texts",
		plant.MaxName, plant.MaxTag, len(e.IDs), ids)
}
