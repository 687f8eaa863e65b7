package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/internal/plant"
)

// positionText returns a position as clients see it: 36 bytes in base64url. They are
// 1 for a position of a walk or else 0, four numbers, and the end of a CRC-32, so that
// a text that was cut off or mistyped is found. The checksum does not keep clients from
// making up positions; [plant.Feed] checks the numbers.
func positionText(p plant.Position) string {
	b, last := make([]byte, 1, 36), int64(p.Index)
	if p.Walk != nil {
		b[0], last = 1, *p.Walk // a position of a walk has no index
	}
	for _, n := range []int64{p.Epoch, p.At, p.Seen, last} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	sum := crc32.ChecksumIEEE(b)
	return base64.RawURLEncoding.EncodeToString(append(b, byte(sum>>16), byte(sum>>8), byte(sum)))
}

// parsePosition returns the position in a parameter, or nil if it is not given. A
// position of an earlier release returns [plant.ErrPosition].
func parsePosition(in plantapi.ErrorDetailIn, name string, text *string) (*plant.Position, error) {
	if text == nil {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(*text)
	if err == nil && len(b) == 36 {
		number := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[1+8*i:])) }
		p := plant.Position{Epoch: number(0), At: number(1), Seen: number(2)}
		if b[0] == 0 {
			p.Index = int(number(3))
		} else {
			p.Walk = new(number(3))
		}
		if positionText(p) == *text {
			return &p, nil
		}
	}
	if err == nil && isEarlier(b) {
		return nil, plant.ErrPosition
	}
	given := parameter{name: name, in: in}
	detail := given.fault("is not a position: send one of an earlier response, complete and unchanged")
	return nil, invalid(plantapi.CodeInvalidParameter, wrongParameter, []plantapi.ErrorDetail{detail})
}

// isEarlier reports whether b is a position of an earlier release: four or five integers
// of variable length. The first is a random number of 64 bits, so it is long, while that
// of a position of today is one byte.
func isEarlier(b []byte) bool {
	_, size := binary.Varint(b)
	for n := 0; size > 0 && (n > 0 || size >= 7); n++ {
		if b = b[size:]; len(b) == 0 {
			return n == 3 || n == 4
		}
		_, size = binary.Varint(b)
	}
	return false
}
