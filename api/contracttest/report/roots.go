package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A library that takes null for any member makes a cause of each member of each component, and is mended in one place. So
// causes with one root are one cause. A single member that takes null is best named by itself.

// joined joins the causes with one root. What is known by itself stays by itself, so that a list of
// what is known need not change when a root shows in more places.
func joined(causes []Cause) (all []Cause) {
	underTypes(causes)
	ofOneBase(causes)
	byRoot := map[scenario.Cause][]Cause{}
	for _, cause := range causes {
		root := cause.First.Root
		if root == (scenario.Cause{}) || cause.Known != "" {
			all = append(all, cause)
			continue
		}
		byRoot[root] = append(byRoot[root], cause)
	}
	for root, parts := range byRoot {
		if len(parts) > 1 {
			parts = []Cause{join(root, parts)}
		}
		all = append(all, parts...)
	}
	return all
}

// underTypes changes the roots of values that are accepted in a place where a value of another type is accepted, too: a service that
// does not look at the type looks at no other keyword there. They get the root of that value.
func underTypes(causes []Cause) {
	roots := map[scenario.Cause]scenario.Cause{} // by the cause without a keyword
	for _, cause := range causes {
		if cause.First.Cause.Kind == scenario.Accepts && cause.First.Cause.Keyword == "type" {
			roots[withoutKeyword(cause)] = cause.First.Root
		}
	}
	for i, cause := range causes {
		if root, has := roots[withoutKeyword(cause)]; has {
			causes[i].First.Root = root
		}
	}
}

// ofOneBase changes the roots of what is wrong with one member in several components, where nothing else is wrong with these: most
// have it from what they are all made of, such as a base class.
func ofOneBase(causes []Cause) {
	ofRoot := map[scenario.Cause]int{}
	for _, cause := range causes {
		ofRoot[cause.First.Root]++
	}
	for i, cause := range causes {
		wrong := cause.First.Cause
		isAlone := cause.First.Root.Kind == scenario.WrongForm && ofRoot[cause.First.Root] == 1
		if isAlone && wrong.Component != "" && wrong.Place != "" {
			causes[i].First.Root = scenario.Cause{Kind: scenario.WrongBody, Place: wrong.Place, Keyword: wrong.Keyword}
		}
	}
}

// withoutKeyword is the same for all keywords that are broken in one place.
func withoutKeyword(cause Cause) scenario.Cause {
	place := cause.First.Cause
	place.Keyword = ""
	return place
}

// join makes one cause of those with one root. Its first failure is that of the part that was found most often.
func join(root scenario.Cause, parts []Cause) Cause {
	slices.SortFunc(parts, func(one, other Cause) int {
		return cmp.Or(cmp.Compare(other.Count, one.Count), cmp.Compare(one.Cause, other.Cause))
	})
	whole := Cause{ID: root.ID(), Cause: CauseText(root), First: parts[0].First}
	for _, part := range parts {
		whole.Count += part.Count
		whole.Parts = append(whole.Parts, part.Cause)
		whole.parts = append(whole.parts, part.ID)
		whole.Places = append(whole.Places, part.Places...)
		for _, test := range part.Tests {
			if !slices.Contains(whole.Tests, test) {
				whole.Tests = append(whole.Tests, test)
			}
		}
	}
	return whole
}

// mostParts is how many of the causes that were joined are shown.
const mostParts = 8

// where are the causes that were joined, in a line each.
func (c Cause) where() (text string) {
	for _, part := range c.Parts[:min(len(c.Parts), mostParts)] {
		text += "\n  where:  " + part
	}
	if more := len(c.Parts) - mostParts; more > 0 {
		text += fmt.Sprintf("\n  and in %d more places", more)
	}
	return text
}

// nameWholes names beside each promise the cause that is listed, where it was joined to that.
func (r Report) nameWholes() {
	wholes := map[string]string{}
	for _, cause := range r.Causes {
		for _, part := range cause.parts {
			wholes[part] = cause.ID
		}
	}
	for i, promise := range r.Promises {
		r.Promises[i].Cause = cmp.Or(wholes[promise.Cause], promise.Cause)
	}
}
