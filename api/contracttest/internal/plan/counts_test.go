package plan

import (
	"testing"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// A count is a number, or the only member of an object that is named as one. Of two members no test knows which it is.
func TestCountIn(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`7`:                             "7",
		`{"count": 7, "more": false}`:   "7",
		`{"total_items": 7, "page": 1}`: "7",
		`{"count": 7, "total": 9}`:      "",
		`{"count": "7"}`:                "",
		`{"page": 7}`:                   "",
		`[7]`:                           "",
		`7.5`:                           "",
		`no JSON`:                       "",
	} {
		if got := countIn(scenario.Interaction{Body: []byte(body)}); got != want {
			t.Errorf("the count in %s is %q, want %q", body, got, want)
		}
	}
}

// Only a list that ends with its first page says how many things there are.
func TestListedBy(t *testing.T) {
	t.Parallel()
	for end, want := range map[pageEnd]int{nothing: 2, another: -1} {
		if got := listedBy(page{ids: []string{"1", "2"}, end: end}); got != want {
			t.Errorf("a page with the end %d lists %d, want %d", end, got, want)
		}
	}
}
