package httpapi

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plantstore/plantstore/gen/plantapi"
)

// The bodies that many answers have are encoded by hand, as encoding/json would
// encode them without escapes for HTML, but for times, which always have six
// digits after the seconds. Members stand in the order of the
// document.

func appendPlant(b []byte, p *plantapi.Plant) []byte {
	b = append(b, `{"name":`...)
	b = appendString(b, p.Name)
	b = appendTag(b, p.Tag)
	return append(b, '}')
}

func appendStoredPlant(b []byte, p *plantapi.StoredPlant) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, p.ID, 10)
	b = append(b, `,"name":`...)
	b = appendString(b, p.Name)
	b = appendTag(b, p.Tag)
	b = append(b, `,"etag":`...)
	b = appendString(b, p.ETag)
	b = append(b, `,"created_at":`...)
	b = appendTime(b, p.CreatedAt)
	b = append(b, `,"updated_at":`...)
	b = appendTime(b, p.UpdatedAt)
	return append(b, '}')
}

func appendStoredPlants(b []byte, plants plantapi.StoredPlants) []byte {
	b = append(b, '[')
	for i := range plants {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendStoredPlant(b, &plants[i])
	}
	return append(b, ']')
}

func appendTag(b []byte, tag *string) []byte {
	if tag == nil {
		return b
	}
	b = append(b, `,"tag":`...)
	return appendString(b, *tag)
}

func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // what is no UTF-8 becomes U+FFFD; no store has any
	return b
}

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.AppendFormat(b, "2006-01-02T15:04:05.000000Z07:00")
	return append(b, '"')
}
