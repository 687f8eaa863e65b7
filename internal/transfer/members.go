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
	{"id", func(p *client.Plant) any { return &p.ID }},
	{"name", func(p *client.Plant) any { return &p.Name }},
	{"tag", func(p *client.Plant) any { return &p.Tag }},
}

// member is one member of a plant: a column in CSV, a member of an object in NDJSON.
type member struct {
	name  string
	field func(*client.Plant) any // a *int64 or *string, or a **string if it may be absent
}

// zero is where isInteger and isOptional look up the type of a field.
var zero client.Plant

// isInteger reports whether the member is a number in JSON. The others are strings.
func (m member) isInteger() bool {
	_, ok := m.field(&zero).(*int64)
	return ok
}

// isOptional reports whether the member may be absent. An absent member is not an empty one.
func (m member) isOptional() bool {
	_, ok := m.field(&zero).(**string)
	return ok
}

func (m member) get(p *client.Plant) (value string, present bool) {
	switch field := m.field(p).(type) {
	case *int64:
		return strconv.FormatInt(*field, 10), true
	case *string:
		return *field, true
	case **string:
		if *field != nil {
			return **field, true
		}
	}
	return "", false
}

func (m member) set(p *client.Plant, value string) (err error) {
	switch field := m.field(p).(type) {
	case *string:
		*field = value
	case **string:
		*field = &value
	case *int64:
		*field, err = strconv.ParseInt(value, 10, 64)
		switch {
		case value == "":
			return fmt.Errorf("%s is missing", m.name)
		case errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("%s %.30s is out of range for a 64-bit integer", m.name, value)
		case err != nil:
			return fmt.Errorf("%s must be an integer, got %.30q", m.name, value)
		}
	}
	return nil
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
