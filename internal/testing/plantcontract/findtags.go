package plantcontract

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// tagEnds are the ends of tags in their order. In UTF-16 the last one would come before the one before it.
var tagEnds = []string{"", "B", "a", "b", "bb", "\uff21", "\U0001f335"}

// taggedPlants creates a plant for each tag, two for the fourth one, and before them, in the order of tags, some
// whose tags do not begin with the text. It returns the tags when the text is known.
func taggedPlants() (tagged *batch, tags func() []string, steps []scenario.Step) {
	all := func(begin string) []string {
		tags := []string{"", "x" + begin, strings.ToUpper(begin) + "a", begin[:len(begin)-1]}
		for _, end := range tagEnds {
			tags = append(tags, begin+end)
		}
		tags = append(tags, begin+tagEnds[3])
		slices.Reverse(tags)
		return tags
	}
	tagged, steps = newBatch("Tag", len(tagEnds)+5, func(begin string, i int) map[string]any {
		return map[string]any{"name": "Ficus", "tag": all(begin)[i]}
	})
	return tagged, func() (want []string) {
		for _, end := range tagEnds {
			want = append(want, tagged.begin+end)
		}
		return want
	}, steps
}

func tagsInOrder() []scenario.Step {
	tagged, tags, steps := taggedPlants()
	return append(steps, scenario.Later(func() []scenario.Step {
		want, prefix := tags(), url.Values{"prefix": {tagged.begin}}
		var steps []scenario.Step
		for limit := 1; limit <= len(want)+1; limit++ {
			steps = append(steps, walksToTags(with(prefix, "limit", strconv.Itoa(limit)), want, limit)...)
		}
		for i, tag := range want {
			steps = append(steps, followTag(prefix, tag, want[i+1:])...)
		}
		steps = append(steps, walksToTags(with(prefix, "after", tagged.begin+"C"), want[2:], len(want))...) // no plant has it
		steps = append(steps, walksToTags(with(prefix, "after", ""), want, len(want))...)
		steps = append(steps, walksToTags(url.Values{"prefix": {tagged.begin + "b"}}, want[3:5], len(want))...)
		steps = append(steps, query("listTags", asked(url.Values{"limit": {"1"}}), reads("list of tags", func(got []string) error {
			if slices.Equal(got, []string{""}) {
				return nil
			}
			return scenario.Brokenf("the first tag is %q, want the empty one", got)
		})))
		steps = append(steps, walksTo(url.Values{"tag": {want[3]}}, tagged.pick(0, 4))...)
		steps = append(steps,
			counts(url.Values{"tag": {want[3]}}, 2),
			write("deletePlant", tagged.plants[0], nil), // the other plant with this tag
			counts(url.Values{"tag": {want[3]}}, 1),
			write("patchPlant", tagged.plants[1], always(map[string]any{"tag": nil})),
			counts(url.Values{"tag": {want[6]}}, 0))
		return append(steps, walksToTags(prefix, want[:6], len(want))...)
	}))
}

// followTag lists the tags that follow one, with the prefix and without it.
func followTag(prefix url.Values, tag string, rest []string) []scenario.Step {
	steps := walksToTags(with(prefix, "after", tag), rest, len(tagEnds))
	if len(rest) == 0 {
		return steps
	}
	of := url.Values{"after": {tag}, "limit": {strconv.Itoa(len(rest))}}
	return append(steps, query("listTags", asked(of), reads("list of tags", func(got []string) error {
		if slices.Equal(got, rest) {
			return nil
		}
		return scenario.Brokenf("after %q the tags are %q, want %q", tag, got, rest)
	})))
}

func defaultTags() []scenario.Step {
	const size = 101
	tagOf := func(begin string, i int) string { return fmt.Sprintf("%s%03d", begin, i) }
	tagged, steps := newBatch("Tag", size, func(begin string, i int) map[string]any {
		return map[string]any{"name": "Ficus", "tag": tagOf(begin, i)}
	})
	return append(steps, scenario.Later(func() []scenario.Step {
		want := make([]string, size)
		for i := range want {
			want[i] = tagOf(tagged.begin, i)
		}
		return walksToTags(url.Values{"prefix": {tagged.begin}}, want, 100)
	}))
}
