package transfer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/client"
)

// members are the members of a plant in a file, in the order in which they are
// written. CSV and NDJSON both read this list: a new member is one line here.
var members = []member{
	integer("id", func(p *client.Plant) *int64 { return &p.ID }),
	text("name", func(p *client.Plant) *string { return &p.Name }),
	optionalText("tag", func(p *client.Plant) **string { return &p.Tag }),
}

// member is one member of a plant: a column in CSV, a member of an object in
// NDJSON.
type member struct {
	name     string
	integer  bool // a number in JSON; the others are strings
	optional bool // may be absent; an absent member is not an empty one
	get      func(*client.Plant) (value string, present bool)
	set      func(p *client.Plant, value string) error
}

func integer(name string, field func(*client.Plant) *int64) member {
	return member{
		name: name, integer: true,
		get: func(p *client.Plant) (string, bool) { return strconv.FormatInt(*field(p), 10), true },
		set: func(p *client.Plant, value string) (err error) {
			*field(p), err = strconv.ParseInt(value, 10, 64)
			switch {
			case value == "":
				return fmt.Errorf("%s is missing", name)
			case errors.Is(err, strconv.ErrRange):
				return fmt.Errorf("%s %.30s is out of range for a 64-bit integer", name, value)
			case err != nil:
				return fmt.Errorf("%s must be an integer, got %.30q", name, value)
			}
			return nil
		},
	}
}

func text(name string, field func(*client.Plant) *string) member {
	return member{
		name: name,
		get:  func(p *client.Plant) (string, bool) { return *field(p), true },
		set: func(p *client.Plant, value string) error {
			*field(p) = value
			return nil
		},
	}
}

func optionalText(name string, field func(*client.Plant) **string) member {
	return member{
		name: name, optional: true,
		get: func(p *client.Plant) (string, bool) {
			if value := *field(p); value != nil {
				return *value, true
			}
			return "", false
		},
		set: func(p *client.Plant, value string) error {
			*field(p) = &value
			return nil
		},
	}
}

// memberIndex returns the index of a member in members, or -1.
func memberIndex(name string) int {
	return slices.IndexFunc(members, func(m member) bool { return m.name == name })
}

// memberNames lists the names of all members.
func memberNames(separator string) string {
	var names []string
	for _, m := range members {
		names = append(names, m.name)
	}
	return strings.Join(names, separator)
}
