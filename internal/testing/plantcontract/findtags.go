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
// whose tags do not begin with the text.
func taggedPlants(t *scenario.Trial) (tagged *batch, tags []string) {
	all := func(begin string) []string {
		tags := []string{"", "x" + begin, strings.ToUpper(begin) + "a", begin[:len(begin)-1]}
		for _, end := range tagEnds {
			tags = append(tags, begin+end)
		}
		tags = append(tags, begin+tagEnds[3])
		slices.Reverse(tags)
		return tags
	}
	tagged = newBatch(t, "Tag", len(tagEnds)+5, func(begin string, i int) map[string]any {
		return map[string]any{"name": "Ficus", "tag": all(begin)[i]}
	})
	for _, end := range tagEnds {
		tags = append(tags, tagged.begin+end)
	}
	return tagged, tags
}

func tagsInOrder(t *scenario.Trial) {
	tagged, want := taggedPlants(t)
	prefix := url.Values{"prefix": {tagged.begin}}
	for limit := 1; limit <= len(want)+1; limit++ {
		walksToTags(t, with(prefix, "limit", strconv.Itoa(limit)), want, limit)
	}
	for i, tag := range want {
		followTag(t, prefix, tag, want[i+1:])
	}
	walksToTags(t, with(prefix, "after", tagged.begin+"C"), want[2:], len(want)) // no plant has it
	walksToTags(t, with(prefix, "after", ""), want, len(want))
	walksToTags(t, url.Values{"prefix": {tagged.begin + "b"}}, want[3:5], len(want))
	first := tagsOf(t, query(t, "listTags", url.Values{"limit": {"1"}}))
	t.Require(slices.Equal(first, []string{""}), "the first tag is %q, want the empty one", first)
	walksTo(t, url.Values{"tag": {want[3]}}, tagged.pick(0, 4))
	counts(t, url.Values{"tag": {want[3]}}, 2)
	write(t, "deletePlant", tagged.plants[0], nil) // the other plant with this tag
	counts(t, url.Values{"tag": {want[3]}}, 1)
	write(t, "patchPlant", tagged.plants[1], map[string]any{"tag": nil})
	counts(t, url.Values{"tag": {want[6]}}, 0)
	walksToTags(t, prefix, want[:6], len(want))
}

// followTag lists the tags that follow one, with the prefix and without it.
func followTag(t *scenario.Trial, prefix url.Values, tag string, rest []string) {
	walksToTags(t, with(prefix, "after", tag), rest, len(tagEnds))
	if len(rest) == 0 {
		return
	}
	got := tagsOf(t, query(t, "listTags", url.Values{"after": {tag}, "limit": {strconv.Itoa(len(rest))}}))
	t.Require(slices.Equal(got, rest), "after %q the tags are %q, want %q", tag, got, rest)
}

func defaultTags(t *scenario.Trial) {
	var want []string
	tagged := newBatch(t, "Tag", 101, func(begin string, i int) map[string]any {
		want = append(want, fmt.Sprintf("%s%03d", begin, i))
		return map[string]any{"name": "Ficus", "tag": want[i]}
	})
	walksToTags(t, url.Values{"prefix": {tagged.begin}}, want, 100)
}
