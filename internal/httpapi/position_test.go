package httpapi

import (
	"encoding/base64"
	"errors"
	"math"
	"reflect"
	"regexp"
	"testing"

	"github.com/plantstore/plantstore/internal/plant"
)

func TestPositionTexts(t *testing.T) {
	documented := regexp.MustCompile(`^[0-9A-Za-z_-]+$`)
	for _, want := range []plant.Position{
		{},
		{Epoch: math.MinInt64, At: math.MaxInt64, Index: math.MaxInt, Seen: math.MaxInt64, Walk: new(int64(math.MinInt64))},
		{Epoch: 5, At: 1, Index: 2, Seen: 3, Walk: new(int64(0))},
		{Epoch: -5, At: 1, Index: 2, Seen: 3},
	} {
		text := positionText(want)
		if got, err := parsePosition(&text); err != nil || !reflect.DeepEqual(*got, want) || !documented.MatchString(text) {
			t.Errorf("%+v is %s, which is %+v, %v", want, text, got, err)
		}
	}
	whole := positionText(plant.Position{Epoch: 1, Walk: new(int64(1))})
	for _, text := range []string{"", "unknown", "!", whole + "A", whole[:len(whole)-2], base64.RawURLEncoding.EncodeToString([]byte{2, 2, 2, 2, 2, 2}), "_____________________"} {
		if got, err := parsePosition(&text); !errors.Is(err, plant.ErrPosition) {
			t.Errorf("%q is %+v, %v, want ErrPosition", text, got, err)
		}
	}
	if got, err := parsePosition(nil); got != nil || err != nil {
		t.Errorf("no position is %+v, %v", got, err)
	}
}
