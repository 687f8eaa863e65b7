package httpapi

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/plantstore/plantstore/internal/plant"
)

// positionText returns a position as clients see it: the numbers of the position
// as variable-length integers, in base64url.
func positionText(p plant.Position) string {
	var buf [6 * binary.MaxVarintLen64]byte
	b := buf[:0]
	for _, n := range []int64{p.Epoch, p.At, int64(p.Index), p.Seen} {
		b = binary.AppendVarint(b, n)
	}
	if p.Walk != nil {
		b = binary.AppendVarint(b, *p.Walk)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parsePosition returns the position with this text. Nil is the position of a
// client that has none. A text that is no position returns [plant.ErrPosition]:
// clients do not know what is in it.
func parsePosition(text *string) (*plant.Position, error) {
	if text == nil {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(*text)
	var numbers []int64
	for err == nil && len(b) > 0 {
		n, size := binary.Varint(b)
		if size <= 0 {
			return nil, plant.ErrPosition
		}
		numbers, b = append(numbers, n), b[size:]
	}
	if err != nil || len(numbers) < 4 || len(numbers) > 5 {
		return nil, plant.ErrPosition
	}
	p := &plant.Position{Epoch: numbers[0], At: numbers[1], Index: int(numbers[2]), Seen: numbers[3]}
	if len(numbers) == 5 {
		p.Walk = &numbers[4]
	}
	return p, nil
}
