package httpapi

import (
	"errors"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
)

func TestPositionTexts(t *testing.T) {
	documented := regexp.MustCompile(`^[0-9A-Za-z_-]{48}$`)
	for _, want := range []plant.Position{
		{},
		{Epoch: math.MinInt64, At: math.MaxInt64, Index: math.MaxInt, Seen: math.MaxInt64},
		{Epoch: math.MaxInt64, At: math.MaxInt64, Seen: math.MaxInt64, Walk: new(int64(math.MinInt64))},
		{Epoch: 5, At: 1, Seen: 3, Walk: new(int64(0))},
		{Epoch: -5, At: 1, Index: 2, Seen: 3},
	} {
		text := positionText(want)
		if got, err := parsePosition(plantapi.InQuery, "after", &text); err != nil || !reflect.DeepEqual(*got, want) || !documented.MatchString(text) {
			t.Errorf("%+v is %s, which is %+v, %v", want, text, got, err)
		}
	}
	// Positions do not change from release to release. The document has this one.
	if got := positionText(plant.Position{Epoch: 4525921077503631645, At: 40, Seen: 42}); got != "AD7PTT2aDqEdAAAAAAAAACgAAAAAAAAAKgAAAAAAAAAAUFTG" {
		t.Errorf("the position is %s", got)
	}
	if got, err := parsePosition(plantapi.InQuery, "after", nil); got != nil || err != nil {
		t.Errorf("no position is %+v, %v", got, err)
	}
}

// A text that is not a position is a wrong parameter: the copy of the client is still
// good.
func TestTextsOfNoPosition(t *testing.T) {
	whole := positionText(plant.Position{Epoch: 1 << 60, At: 300, Seen: 300, Walk: new(int64(-1))})
	wrong := []string{"", "xyz", "unknown", "!", "$POSITION", whole + "A", whole + whole, strings.ToLower(whole), "B" + whole[1:], strings.Repeat("A", 48), strings.Repeat("a", 14)}
	for i := range whole { // cut off, and mistyped
		wrong = append(wrong, whole[:i], whole[i:][:len(whole)-i-1], whole[:i]+map[bool]string{true: "b", false: "a"}[whole[i] == 'a']+whole[i+1:])
	}
	for _, text := range wrong {
		p, err := parsePosition(plantapi.InHeader, "Last-Event-ID", &text)
		f, ok := errors.AsType[*failure](err)
		if !ok || f.code != plantapi.CodeInvalidParameter || len(f.details) != 1 || f.details[0].In != plantapi.InHeader || f.details[0].Pointer != "/Last-Event-ID" {
			t.Errorf("%q is %+v, %v, want an invalid parameter", text, p, err)
		}
	}
}
