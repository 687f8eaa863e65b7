package contracttest

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/plan"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// bookings is a service of rehearsal rooms. What it does with what it is sent can be wrong, or right and unusual.
type bookings struct {
	// spoil changes what a request with a method stores in a booking, of which before is what was there.
	spoil func(method string, booking, before object)
	// spoilWish changes a wish, and spoilShown what a response shows of a booking.
	spoilWish, spoilShown func(one object)
	// refuses is why a valid booking is refused, or nil.
	refuses func(booking object, others []object) error
	trims   bool
}

// isTime allows a time of a day.
func isTime(value any) bool {
	text, _ := value.(string)
	_, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
	return err == nil && !strings.Contains(text, ",")
}

// isMultiple allows numbers between two bounds that are multiples of a step.
func isMultiple(low, high, step float64) func(any) bool {
	return func(value any) bool {
		number, isNumber := value.(float64)
		times := number / step
		return isNumber && number >= low && number <= high && times == float64(int64(times))
	}
}

func isEmail(value any) bool {
	text, _ := value.(string)
	before, after, _ := strings.Cut(text, "@")
	return before != "" && after != ""
}

// within allows objects with some members.
func within(members map[string]member) func(any) bool {
	return func(value any) bool {
		inner, isObject := value.(object)
		for name, wanted := range members {
			one, exists := inner[name]
			if !exists && wanted.isRequired || exists && !wanted.allows(one) {
				return false
			}
		}
		return isObject
	}
}

// bookingMembers are those of a request.
func bookingMembers(isWhole bool) map[string]member {
	equipment := within(map[string]member{"name": {true, ofLength(0, 40)}, "count": {false, isMultiple(1, 9, 1)}})
	return map[string]member{
		"band": {isWhole, ofLength(1, 40)}, "contact": {isWhole, ofLength(1, 40)}, "begin": {isWhole, isDay}, "end": {isWhole, isDay},
		"confirmed_on": {false, isDay}, "arrival": {false, isTime}, "departure": {false, isTime},
		"min_people": {false, isMultiple(1, 90, 1)}, "max_people": {false, isMultiple(1, 200, 1)},
		"price": {false, isMultiple(0, 1000, 0.5)}, "deposit": {false, isMultiple(0, 1000, 0.5)},
		"drums": {false, isBool}, "piano": {false, isBool}, "email": {false, isEmail}, "reply_to": {false, isEmail},
		"kind":    {false, func(value any) bool { return slices.Contains([]any{"band", "choir", "solo", "orchestra"}, value) }},
		"note":    {false, ofLength(0, 100)},
		"address": {false, within(map[string]member{"street": {true, ofLength(0, 60)}, "city": {false, ofLength(0, 60)}})},
		"equipment": {false, func(value any) bool {
			items, isArray := value.([]any)
			isWrong := func(item any) bool { return !equipment(item) }
			return isArray && len(items) <= 5 && !slices.ContainsFunc(items, isWrong)
		}},
	}
}

// serve returns the service.
func (b bookings) serve() *http.ServeMux {
	mux, kept, changes := http.NewServeMux(), newShelf(), 0
	shown := func(booking object) object {
		copied := maps.Clone(booking)
		if b.spoilShown != nil {
			b.spoilShown(copied)
		}
		return copied
	}
	// store makes a booking of what was sent, on top of what stays of the one before.
	store := func(r *http.Request, before, stays object) (object, error) {
		sent, err := readObject(r, bookingMembers(r.Method != http.MethodPatch))
		if err != nil {
			return nil, err
		}
		booking := maps.Clone(stays)
		for name := range bookingMembers(true) {
			value, isSent := sent[name]
			if text, isText := value.(string); isText && b.trims && strings.TrimSpace(text) != "" {
				value = strings.TrimSpace(text)
			}
			if isSent {
				booking[name] = value
			}
		}
		if b.refuses != nil {
			others := slices.DeleteFunc(kept.all(), func(other object) bool { return other["id"] == before["id"] })
			if err := b.refuses(booking, others); err != nil {
				return nil, err
			}
		}
		if b.spoil != nil {
			b.spoil(r.Method, booking, before)
		}
		changes++
		booking["reference"] = fmt.Sprint("R", changes)
		booking["updated_at"] = time.Unix(int64(changes), 0).UTC().Format(time.RFC3339)
		return booking, nil
	}
	mux.Handle("POST /bookings", kept.locked(func(r *http.Request) (int, any, error) {
		booking, err := store(r, object{}, object{})
		if err != nil {
			return 0, nil, err
		}
		return http.StatusCreated, shown(kept.add(booking)), nil
	}))
	one := func(method string, do func(r *http.Request, booking object) (object, error)) {
		mux.Handle(method+" /bookings/{id}", kept.locked(func(r *http.Request) (int, any, error) {
			booking, err := kept.find(r)
			if err == nil {
				booking, err = do(r, booking)
			}
			if err != nil {
				return 0, nil, err
			}
			id, _ := strconv.Atoi(r.PathValue("id")) // find has read it
			kept.kept[id] = booking
			return http.StatusOK, shown(booking), nil
		}))
	}
	one("GET", func(_ *http.Request, booking object) (object, error) { return booking, nil })
	one("PUT", func(r *http.Request, booking object) (object, error) {
		return store(r, booking, object{"id": booking["id"]})
	})
	one("PATCH", func(r *http.Request, booking object) (object, error) { return store(r, booking, booking) })
	b.serveOthers(mux, kept)
	return mux
}

// serveOthers serves what is only created: the response to that is all that shows it.
func (b bookings) serveOthers(mux *http.ServeMux, kept *shelf) {
	wishes := 0
	mux.Handle("POST /wishes", kept.locked(func(r *http.Request) (int, any, error) {
		wish, err := readObject(r, map[string]member{
			"text": {true, ofLength(1, 40)}, "first_day": {false, isDay}, "last_day": {false, isDay}, "note": {false, ofLength(0, 100)},
			"secret": {false, ofLength(0, 20)}, "updated_at": {false, isTime},
		})
		if err != nil {
			return 0, nil, err
		}
		wishes++
		delete(wish, "secret")
		wish["id"], wish["updated_at"] = wishes, time.Unix(int64(wishes), 0).UTC().Format(time.RFC3339)
		if b.spoilWish != nil {
			b.spoilWish(wish)
		}
		return http.StatusCreated, wish, nil
	}))
	mux.Handle("POST /complaints", kept.locked(func(r *http.Request) (int, any, error) {
		complaint, err := readObject(r, map[string]member{"text": {true, ofLength(1, 40)}, "room": {false, isMultiple(1, 9, 1)}})
		room, hasRoom := complaint["room"]
		if !hasRoom {
			room = 1
		}
		return http.StatusCreated, object{"number": 1, "text": complaint["text"], "room": room, "seen_on": "2026-01-02"}, err
	}))
}

// swaps, copies, drops and sets make faults of the members of an object, for requests with some methods or with all.
func swaps(one, other string) func(object) {
	return func(x object) {
		first, hasFirst := x[one]
		second, hasSecond := x[other]
		if hasFirst && hasSecond {
			x[one], x[other] = second, first
		}
	}
}

func copies(from, to string) func(object) {
	return func(x object) {
		if x[from] != nil && x[to] != nil {
			x[to] = x[from]
		}
	}
}

func drops(name string) func(object) { return func(x object) { delete(x, name) } }

// changes replaces a member of an object that has it.
func changes(name string, change func(value any) any) func(object) {
	return func(x object) {
		if value, has := x[name]; has {
			x[name] = change(value)
		}
	}
}

// dropsWithin drops a member of an object, or of each object of an array.
func dropsWithin(name string) func(any) any {
	return func(value any) any {
		if items, isArray := value.([]any); isArray {
			kept := []any{}
			for _, item := range items {
				kept = append(kept, dropsWithin(name)(item))
			}
			return kept
		}
		inner, _ := value.(object)
		inner = maps.Clone(inner)
		delete(inner, name)
		return inner
	}
}

// by spoils what requests with one method store, and created what creates do.
func by(method string, spoil func(object)) bookings {
	return bookings{spoil: func(used string, booking, _ object) {
		if used == method {
			spoil(booking)
		}
	}}
}

func created(spoil func(object)) bookings { return by(http.MethodPost, spoil) }

func ofWish(spoil func(object)) bookings { return bookings{spoilWish: spoil} }

// testBookings runs the tests of the document on a service, or only those of sequences. The document is changed: a text of it,
// and what replaces it.
func testBookings(t *testing.T, service bookings, seed uint64, isWhole bool, edits ...string) Report {
	t.Helper()
	document, err := os.ReadFile("testdata/bookings.yaml")
	must.NoError(t, err)
	tests, err := New([]byte(strings.NewReplacer(edits...).Replace(string(document))), Options{Seed: seed})
	must.NoError(t, err)
	target := Target{URL: "http://bookings.example", Transport: inProcess{framed(service.serve())}}
	if isWhole {
		report, err := tests.Run(t.Context(), target)
		must.NoError(t, err)
		return report
	}
	for test := range tests.Tests(t.Context()) {
		if test.test.Phase == plan.FirstRequests || strings.HasPrefix(test.Name, "sequence, ") {
			test.record(test.Try(t.Context(), target), test.Name)
		}
		if len(tests.Causes()) > 0 {
			break
		}
	}
	return tests.Report()
}

// What a service does with one member is found with the document alone, with any seed.
func TestMembersAreMixedUp(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	text := func(change func(string) string) func(any) any {
		return func(value any) any { s, _ := value.(string); return change(s) }
	}
	for name, service := range map[string]bookings{
		"two dates are swapped":             created(swaps("begin", "end")),
		"a date is copied":                  created(copies("begin", "confirmed_on")),
		"two times are swapped":             created(swaps("arrival", "departure")),
		"a time loses its offset":           created(changes("arrival", text(func(s string) string { return s[:len("2026-11-20T09:00:00")] + "Z" }))),
		"a time loses its seconds":          created(changes("departure", text(func(s string) string { return s[:len("2026-11-20T09:00")] + ":00" + s[len("2026-11-20T09:00:00"):] }))),
		"two numbers are swapped":           created(swaps("min_people", "max_people")),
		"a number is copied":                created(copies("price", "deposit")),
		"two booleans are swapped":          created(swaps("drums", "piano")),
		"a boolean is always false":         created(changes("drums", func(any) any { return false })),
		"a boolean is always true":          created(changes("piano", func(any) any { return true })),
		"two texts are swapped":             created(swaps("band", "contact")),
		"a text is copied":                  created(copies("email", "reply_to")),
		"a value of an enumeration is lost": created(changes("kind", text(func(s string) string { return strings.Replace(s, "orchestra", "solo", 1) }))),
		"a create drops a member":           by("POST", drops("note")),
		"a replacement drops a member":      by("PUT", drops("note")),
		"a change drops a member":           {spoil: func(method string, x, before object) { keepsOld(method, x, before, "note") }},
		"a replacement swaps two dates":     by("PUT", swaps("begin", "end")),
		"a change swaps two booleans":       by("PATCH", swaps("drums", "piano")),
		"a member of an object is lost":     created(changes("address", dropsWithin("city"))),
		"two members of an object are copied": created(changes("address", func(value any) any {
			inner, _ := value.(object)
			inner = maps.Clone(inner)
			copies("street", "city")(inner)
			return inner
		})),
		"a member of an item is lost":      created(changes("equipment", dropsWithin("count"))),
		"nothing shows that it is dropped": ofWish(drops("note")),
		"nothing shows that it is swapped": ofWish(swaps("first_day", "last_day")),
	} {
		for seed := range seeds(t) {
			t.Run(fmt.Sprintf("%s/%d", name, seed+1), func(t *testing.T) {
				t.Parallel()
				if report := testBookings(t, service, seed+1, false); len(report.Causes) == 0 {
					t.Error("the fault is not found")
				}
			})
		}
	}
}

// keepsOld lets a change keep the value that a member had.
func keepsOld(method string, booking, before object, name string) {
	if old, had := before[name]; had && method == http.MethodPatch {
		booking[name] = old
	}
}

// A right service is accused of nothing, and all members are followed, whatever it makes of valid values.
func TestMembersAreRight(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	invalid := func(isWrong bool, message string) error {
		if isWrong {
			return refused{http.StatusUnprocessableEntity, message}
		}
		return nil
	}
	day := func(booking object, name string) string { text, _ := booking[name].(string); return text }
	number := func(booking object, name string) float64 { n, _ := booking[name].(float64); return n }
	future := []string{
		"begin: {type: string, format: date}", "begin: {type: string, format: date, example: '2099-05-01'}",
		"end: {type: string, format: date}", "end: {type: string, format: date, example: '2099-05-03'}",
	}
	for name, c := range map[string]struct {
		service bookings
		edits   []string
	}{
		"takes all": {},
		"refuses an end before the begin": {service: bookings{refuses: func(x object, _ []object) error {
			return invalid(day(x, "end") < day(x, "begin"), "the end is before the begin")
		}}},
		"refuses a begin in the past": {edits: future, service: bookings{refuses: func(x object, _ []object) error {
			return invalid(day(x, "begin") < time.Now().Format(time.DateOnly), "the begin is in the past")
		}}},
		"refuses two equal dates": {service: bookings{refuses: func(x object, _ []object) error {
			return invalid(day(x, "begin") == day(x, "end") || day(x, "begin") == day(x, "confirmed_on"), "two dates are equal")
		}}},
		"refuses a departure before the arrival": {service: bookings{refuses: func(x object, _ []object) error {
			from, _ := time.Parse(time.RFC3339, day(x, "arrival"))
			to, err := time.Parse(time.RFC3339, day(x, "departure"))
			return invalid(err == nil && to.Before(from), "the departure is before the arrival")
		}}},
		"refuses a maximum below the minimum": {service: bookings{refuses: func(x object, _ []object) error {
			return invalid(x["max_people"] != nil && number(x, "max_people") < number(x, "min_people"), "the maximum is below the minimum")
		}}},
		"has each band once": {service: bookings{refuses: func(x object, others []object) error {
			if slices.ContainsFunc(others, func(other object) bool { return other["band"] == x["band"] }) {
				return refused{http.StatusConflict, "the band has a booking"}
			}
			return nil
		}}},
		"refuses an arrival before the departure": {service: bookings{refuses: func(x object, _ []object) error {
			from, _ := time.Parse(time.RFC3339, day(x, "departure"))
			to, err := time.Parse(time.RFC3339, day(x, "arrival"))
			return invalid(err == nil && to.Before(from), "the arrival is before the departure")
		}}},
		"trims texts": {service: bookings{trims: true}},
		"refuses all dates but those of its example": {edits: []string{"begin: {type: string, format: date}", "begin: {type: string, format: date, example: '2026-12-24'}"}, service: bookings{refuses: func(x object, _ []object) error {
			return invalid(day(x, "begin") != "2026-12-24", "it is open on one day")
		}}},
	} {
		for seed := range seeds(t) {
			t.Run(fmt.Sprintf("%s/%d", name, seed+1), func(t *testing.T) {
				t.Parallel()
				report := testBookings(t, c.service, seed+1, os.Getenv("CONTRACT_SEEDS") != "", c.edits...)
				for _, cause := range report.Causes {
					t.Errorf("a right service is accused: %s", cause)
				}
				for _, promise := range report.Promises {
					isOfMembers := strings.Contains(promise.Name, "a read sees a") || strings.Contains(promise.Name, "member ") || strings.Contains(promise.Name, "shows what was sent")
					if isOfMembers && promise.State != "kept" {
						t.Errorf("%s is not kept: %s", promise.Name, promise.Why)
					}
				}
			})
		}
	}
}

// A member that no response has is not tested.
func TestMemberNeverComes(t *testing.T) {
	must.HaveTime(t)
	t.Parallel()
	for seed := range seeds(t) {
		report := testBookings(t, bookings{spoilShown: drops("reference")}, seed+1, false)
		var untested []string
		for _, promise := range report.Promises {
			if strings.Contains(promise.Name, "member ") && promise.State == "not tested" {
				untested = append(untested, promise.Name+": "+promise.Why)
			}
		}
		want := []string{"addBooking, 201, member /reference: no response has had it"}
		if !slices.Equal(untested, want) {
			t.Errorf("not tested is %q, want %q", untested, want)
		}
	}
}
