package contracttest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// reports knows few owners, scopes, parts and kinds. A report is of a day or of a week, and has a folder or is mailed.
func reports() *http.ServeMux {
	mux := http.NewServeMux()
	known := func(names ...string) func(any) bool {
		return func(value any) bool { name, isText := value.(string); return isText && slices.Contains(names, name) }
	}
	between := func(least, most float64) func(any) bool {
		return func(value any) bool {
			number, isNumber := value.(float64)
			return isNumber && number >= least && number <= most && number == float64(int(number))
		}
	}
	each := func(allows func(any) bool) func(any) bool {
		return func(value any) bool {
			items, isList := value.([]any)
			return isList && !slices.ContainsFunc(items, func(item any) bool { return !allows(item) })
		}
	}
	part := func(value any) bool {
		of, isObject := value.(object)
		weight, hasWeight := of["weight"]
		return isObject && known("pages", "sales")(of["of"]) && (!hasWeight || between(1, 9)(weight))
	}
	date := func(value any) bool { _, err := time.Parse(time.DateOnly, fmt.Sprint(value)); return err == nil }
	isBoolean := func(value any) bool { _, is := value.(bool); return is }
	owner := known("8b1a9953-c461-4a2e-9f0e-3f6a5d1c2b7e")

	mux.Handle("POST /reports", answer(func(r *http.Request) (int, any, error) {
		report, err := readObject(r, map[string]member{
			"name": {true, ofLength(1, 90)}, "owner": {false, owner}, "scopes": {false, each(known("read"))}, "parts": {false, each(part)},
			"kind": {false, known("sum")}, "day": {false, date}, "week": {false, between(1, 53)}, "mail": {false, isBoolean},
			"folder": {false, ofLength(0, 20)},
		})
		has := func(name string) bool { _, has := report[name]; return has }
		if err == nil && has("day") && has("week") {
			err = refused{http.StatusBadRequest, "it is of a day or of a week"}
		}
		if err == nil && report["mail"] == false && !has("folder") {
			err = refused{http.StatusBadRequest, "it has no folder"}
		}
		return http.StatusCreated, object{"stored": true}, err
	}))
	mux.Handle("GET /reports", answer(func(r *http.Request) (int, any, error) {
		query := r.URL.Query()
		number := func(name string) bool {
			value, err := strconv.ParseFloat(query.Get(name), 64)
			return !query.Has(name) || err == nil && between(1, 9)(value)
		}
		isWrong := query.Has("owner") && !owner(query.Get("owner")) || query.Has("kind") && query.Get("kind") != "sum" ||
			!number("first") || !number("last")
		if isWrong {
			return 0, nil, refused{http.StatusBadRequest, "a parameter is not known"}
		}
		return http.StatusOK, []string{"a"}, nil
	}))
	return mux
}

// cups are stored, and all that it sends and takes is JSON without a charset.
func cups() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /cups", answer(func(*http.Request) (int, any, error) { return http.StatusOK, []string{}, nil }))
	mux.Handle("POST /cups", answer(func(r *http.Request) (int, any, error) {
		cup, err := readObject(r, map[string]member{"name": {true, ofLength(0, 20)}})
		if err == nil && len(cup) > 1 {
			err = refused{http.StatusBadRequest, "a cup has a name only"}
		}
		return http.StatusCreated, cup, err
	}))
	return mux
}
