package transfer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plantstore/plantstore/api/client"
)

// members are the members of a plant in a file, in the order in which they are
// written. CSV and NDJSON both read this list: a new member is one entry here.
var members = []member{
	{
		name: "id",
		kind: jsontext.KindNumber,
		get:  func(plant *client.Plant) *string { return new(strconv.FormatInt(plant.ID, 10)) },
		set: func(plant *client.Plant, text string) (err error) {
			plant.ID, err = parseInteger("id", strings.TrimSpace(text))
			return err
		},
	},
	{
		name: "name",
		kind: jsontext.KindString,
		get:  func(plant *client.Plant) *string { return &plant.Name },
		set: func(plant *client.Plant, text string) error {
			plant.Name = text
			return nil
		},
	},
	{
		name:       "tag",
		kind:       jsontext.KindString,
		isOptional: true,
		get:        func(plant *client.Plant) *string { return plant.Tag },
		set: func(plant *client.Plant, text string) error {
			plant.Tag = &text
			return nil
		},
	},
}

// member is one member of a plant: a column in CSV, a member of an object in NDJSON.
type member struct {
	name       string
	kind       jsontext.Kind               // of a JSON value: a number, which is an integer, or a string
	isOptional bool                        // it may be absent, which is not the same as empty
	isIgnored  bool                        // it is not of a plant, but of a file of refused rows
	get        func(*client.Plant) *string // nil: it is absent
	set        func(plant *client.Plant, text string) error
}

// parseInteger returns the value of a member that is an integer.
func parseInteger(name, text string) (int64, error) {
	value, err := strconv.ParseInt(text, 10, 64)
	switch {
	case text == "":
		return 0, fmt.Errorf("%s is missing", name)
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s %.30s is out of range for a 64-bit integer", name, text)
	case err != nil:
		return 0, fmt.Errorf("%s must be an integer, got %.30q", name, text)
	}
	return value, nil
}

// The additional columns, or members, of a file of refused rows.
const (
	lineColumn   = "line"
	reasonColumn = "reason"
)

// etag is the version of a plant, in a file that is made to be edited and brought back: a
// download of the page has it, and an export with it. Only an update reads it.
var etag = member{
	name:       "etag",
	kind:       jsontext.KindString,
	isOptional: true,
	get:        func(plant *client.Plant) *string { return new(string(plant.ETag)) },
	set: func(plant *client.Plant, text string) error {
		plant.ETag = client.ETag(strings.Trim(strings.TrimSpace(text), `"`))
		return nil
	},
}

// membersByName has the members and the additional columns.
var membersByName = func() map[string]member {
	byName := map[string]member{
		lineColumn:   {name: lineColumn, isIgnored: true, set: ignore},
		reasonColumn: {name: reasonColumn, isIgnored: true, set: ignore},
		etag.name:    etag,
	}
	for _, m := range members {
		byName[m.name] = m
	}
	return byName
}()

func ignore(*client.Plant, string) error { return nil }

// missingMember returns the name of a member that every plant has and that is not among
// the present ones. It is empty if there is none.
func missingMember(present []string) string {
	for _, m := range members {
		if !m.isOptional && !slices.Contains(present, m.name) {
			return m.name
		}
	}
	return ""
}

// names returns the names of members.
func names(list []member) []string {
	listed := make([]string, len(list))
	for i, m := range list {
		listed[i] = m.name
	}
	return listed
}
