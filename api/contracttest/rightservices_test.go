package contracttest

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The right services of TestRightServices.

// login refuses each password that it does not know.
func login() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("POST /login", answer(func(r *http.Request) (int, any, error) {
		_, err := readObject(r, map[string]member{"username": {true, ofLength(0, 64)}, "password": {true, ofLength(0, 64)}})
		if err == nil {
			err = refused{http.StatusUnauthorized, "wrong password"}
		}
		return 0, nil, err
	}))
	return mux
}

// trips refuses a trip that ends before it begins.
func trips() *http.ServeMux {
	mux, kept := http.NewServeMux(), newShelf()
	isDate := func(value any) bool {
		text, _ := value.(string)
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	}
	mux.Handle("POST /trips", kept.locked(func(r *http.Request) (int, any, error) {
		trip, err := readObject(r, map[string]member{"begin": {true, isDate}, "end": {true, isDate}})
		if err != nil {
			return 0, nil, err
		}
		if trip["end"].(string) < trip["begin"].(string) {
			return 0, nil, refused{http.StatusUnprocessableEntity, "the end is before the begin"}
		}
		return http.StatusCreated, kept.add(object{"begin": trip["begin"], "end": trip["end"]}), nil
	}))
	mux.Handle("GET /trips/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		trip, err := kept.find(r)
		return http.StatusOK, trip, err
	}))
	return mux
}

// views counts how often a thing was read.
func views() *http.ServeMux {
	mux, kept := http.NewServeMux(), newShelf()
	mux.Handle("POST /things", kept.locked(func(r *http.Request) (int, any, error) {
		thing, err := readObject(r, map[string]member{"name": {true, ofLength(1, 40)}})
		if err != nil {
			return 0, nil, err
		}
		return http.StatusCreated, kept.add(object{"name": thing["name"], "views": 0}), nil
	}))
	mux.Handle("GET /things/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		thing, err := kept.find(r)
		if err == nil {
			thing["views"] = thing["views"].(int) + 1
		}
		return http.StatusOK, thing, err
	}))
	mux.Handle("DELETE /things/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		thing, err := kept.find(r)
		if err == nil {
			delete(kept.kept, thing["id"].(int))
		}
		return http.StatusNoContent, nil, err
	}))
	return mux
}

// providers knows some names that the document does not tell.
func providers() *http.ServeMux {
	mux, known := http.NewServeMux(), []string{"acme", "umbra"}
	mux.Handle("GET /providers/{provider}/models", answer(func(r *http.Request) (int, any, error) {
		if !slices.Contains(known, r.PathValue("provider")) {
			return 0, nil, refused{http.StatusNotFound, "no such provider"}
		}
		return http.StatusOK, []string{"small", "large"}, nil
	}))
	mux.Handle("POST /runs", answer(func(r *http.Request) (int, any, error) {
		steps := func(value any) bool {
			number, isNumber := value.(float64)
			return isNumber && number >= 1 && number <= 9 && number == float64(int(number))
		}
		run, err := readObject(r, map[string]member{"provider": {true, ofLength(0, 40)}, "steps": {true, steps}, "note": {false, ofLength(0, 20)}})
		if err == nil && !slices.Contains(known, run["provider"].(string)) {
			err = refused{http.StatusUnprocessableEntity, "no such provider"}
		}
		return http.StatusCreated, object{"id": 1}, err
	}))
	return mux
}

// projects lists what is in one of the projects that it knows, or in all.
func projects() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /spans", answer(func(r *http.Request) (int, any, error) {
		query := r.URL.Query()
		switch project := query.Get("project"); {
		case query.Has("project") && !ofLength(1, 40)(project):
			return 0, nil, refused{http.StatusBadRequest, "project is not valid"}
		case query.Has("project") && project != "default":
			return 0, nil, refused{http.StatusNotFound, "no such project"}
		}
		return http.StatusOK, []string{"a", "b"}, nil
	}))
	return mux
}

// passwords changes those of users that it knows, and calls all others a wrong request.
func passwords() *http.ServeMux {
	mux, kept := http.NewServeMux(), newShelf()
	mux.Handle("POST /users", kept.locked(func(r *http.Request) (int, any, error) {
		user, err := readObject(r, map[string]member{"name": {true, ofLength(1, 99)}})
		if err != nil {
			return 0, nil, err
		}
		kept.add(user)
		return http.StatusCreated, object{"status": "added"}, nil
	}))
	mux.Handle("PUT /users/{name}/password", kept.locked(func(r *http.Request) (int, any, error) {
		_, err := readObject(r, map[string]member{"password": {true, ofLength(1, 40)}})
		isUser := func(user object) bool { return user["name"] == r.PathValue("name") }
		if err == nil && !slices.ContainsFunc(kept.all(), isUser) {
			err = refused{http.StatusBadRequest, "no such user"}
		}
		return http.StatusNoContent, nil, err
	}))
	return mux
}

// sessions are read by their tokens, and say whose they are.
func sessions() *http.ServeMux {
	mux, kept := http.NewServeMux(), newShelf()
	mux.Handle("POST /sessions", kept.locked(func(r *http.Request) (int, any, error) {
		_, err := readObject(r, map[string]member{"name": {true, ofLength(1, 40)}})
		if err != nil {
			return 0, nil, err
		}
		session := kept.add(object{})
		return http.StatusCreated, object{"user": object{"id": 1}, "token": fmt.Sprint("t", session["id"])}, nil
	}))
	mux.Handle("GET /sessions/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		number, err := strconv.Atoi(strings.TrimPrefix(r.PathValue("id"), "t"))
		if err != nil || !strings.HasPrefix(r.PathValue("id"), "t") || kept.kept[number] == nil {
			return 0, nil, refused{http.StatusNotFound, "there is none"}
		}
		return http.StatusOK, object{"user": object{"id": 1}}, nil
	}))
	return mux
}

// loans are of members. Both have numbers that the client chooses; there is no way to read a member.
func loans() *http.ServeMux {
	mux, kept, members := http.NewServeMux(), newShelf(), map[float64]bool{}
	for id := range 20 { // those of the example that the service begins with
		members[float64(id)] = true
	}
	number := func(value any) bool { // of 32 bits
		given, isNumber := value.(float64)
		return isNumber && given == float64(int32(given))
	}
	date := func(value any) bool {
		text, isText := value.(string)
		_, err := time.Parse(time.DateOnly, text)
		return isText && err == nil
	}
	mux.Handle("POST /members", kept.locked(func(r *http.Request) (int, any, error) {
		one, err := readObject(r, map[string]member{"id": {true, number}, "name": {true, ofLength(1, 80)}})
		switch {
		case err != nil:
			return 0, nil, err
		case members[one["id"].(float64)]:
			return 0, nil, refused{http.StatusConflict, "the id is taken"}
		}
		members[one["id"].(float64)] = true
		return http.StatusCreated, one, nil
	}))
	mux.Handle("POST /loans", kept.locked(func(r *http.Request) (int, any, error) {
		loan, err := readObject(r, map[string]member{"id": {true, number}, "member": {true, number}, "due": {true, date}})
		switch {
		case err != nil:
			return 0, nil, err
		case !members[loan["member"].(float64)]:
			return 0, nil, refused{http.StatusNotFound, "there is no such member"}
		case kept.kept[int(loan["id"].(float64))] != nil:
			return 0, nil, refused{http.StatusConflict, "the id is taken"}
		}
		kept.kept[int(loan["id"].(float64))] = loan
		return http.StatusCreated, loan, nil
	}))
	mux.Handle("GET /loans", kept.locked(func(*http.Request) (int, any, error) {
		return http.StatusOK, slices.AppendSeq([]object{}, maps.Values(kept.kept)), nil
	}))
	mux.Handle("GET /loans/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		loan, err := kept.find(r)
		return http.StatusOK, loan, err
	}))
	return mux
}

// tags have names of their own, and say when they were seen last. To delete what is gone is no failure.
func tags() *http.ServeMux {
	mux, kept := http.NewServeMux(), newShelf()
	color := func(value any) bool { return value == "red" || value == "green" }
	members := map[string]member{"name": {true, ofLength(1, 30)}, "color": {false, color}}
	isTaken := func(name any, but object) bool {
		return slices.ContainsFunc(kept.all(), func(tag object) bool { return tag["name"] == name && (but == nil || tag["id"] != but["id"]) })
	}
	seen := func(tag object) object {
		tag["last_seen"] = time.Now().UTC().Format(time.RFC3339Nano)
		return tag
	}
	mux.Handle("GET /tags", kept.locked(func(r *http.Request) (int, any, error) {
		size, found := 50, []object{}
		if query := r.URL.Query(); query.Has("page[size]") {
			var err error
			size, err = strconv.Atoi(query.Get("page[size]"))
			if err != nil || size < 1 || size > 50 {
				return 0, nil, refused{http.StatusBadRequest, "page[size] is not valid"}
			}
		}
		name, isFiltered := r.URL.Query().Get("filter[name]"), r.URL.Query().Has("filter[name]")
		if len([]rune(name)) > 30 {
			return 0, nil, refused{http.StatusBadRequest, "filter[name] is not valid"}
		}
		for _, tag := range kept.all() {
			if len(found) < size && (!isFiltered || tag["name"] == name) {
				found = append(found, seen(tag))
			}
		}
		return http.StatusOK, found, nil
	}))
	mux.Handle("POST /tags", kept.locked(func(r *http.Request) (int, any, error) {
		tag, err := readObject(r, members)
		if err == nil && isTaken(tag["name"], nil) {
			err = refused{http.StatusConflict, "the name is taken"}
		}
		if err != nil {
			return 0, nil, err
		}
		made := object{"name": tag["name"]}
		if color, hasColor := tag["color"]; hasColor {
			made["color"] = color
		}
		return http.StatusCreated, seen(kept.add(made)), nil
	}))
	mux.Handle("GET /tags/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		tag, err := kept.find(r)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, seen(tag), nil
	}))
	mux.Handle("PUT /tags/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		tag, err := kept.find(r)
		if err != nil {
			return 0, nil, err
		}
		wanted, err := readObject(r, members)
		if err == nil && isTaken(wanted["name"], tag) {
			err = refused{http.StatusConflict, "the name is taken"}
		}
		if err != nil {
			return 0, nil, err
		}
		delete(tag, "color")
		tag["name"] = wanted["name"]
		if color, hasColor := wanted["color"]; hasColor {
			tag["color"] = color
		}
		return http.StatusOK, seen(tag), nil
	}))
	mux.Handle("DELETE /tags/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			return 0, nil, refused{http.StatusBadRequest, "id is not a number"}
		}
		delete(kept.kept, id)
		return http.StatusNoContent, nil, nil
	}))
	return mux
}

// twoSchemes takes a password or a token. The test has no token.
func twoSchemes() *http.ServeMux {
	mux := http.NewServeMux()
	authorized := func(handle func(r *http.Request) (int, any, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if user, password, isBasic := r.BasicAuth(); !isBasic || user != "ann" || password != "secret" {
				w.Header().Set("WWW-Authenticate", `Basic realm="jobs"`)
				answer(func(*http.Request) (int, any, error) { return 0, nil, refused{http.StatusUnauthorized, "who are you?"} })(w, r)
				return
			}
			answer(handle)(w, r)
		}
	}
	name := regexp.MustCompile("^[a-z]{3,8}$")
	mux.Handle("GET /jobs/{job}/runs", authorized(func(r *http.Request) (int, any, error) {
		if !name.MatchString(r.PathValue("job")) {
			return 0, nil, refused{http.StatusBadRequest, "job is not valid"}
		}
		if since := r.URL.Query().Get("since"); r.URL.Query().Has("since") {
			if _, err := time.Parse(time.RFC3339, strings.ToUpper(since)); err != nil {
				return 0, nil, refused{http.StatusBadRequest, "since is not valid"}
			}
		}
		return http.StatusOK, []int{1, 2}, nil
	}))
	mux.Handle("GET /me", authorized(func(*http.Request) (int, any, error) { return http.StatusOK, object{"name": "ann"}, nil }))
	return mux
}

// wrapped has each body in a member, and counts reads.
func wrapped() *http.ServeMux {
	mux, kept := http.NewServeMux(), newShelf()
	mux.Handle("GET /notes", kept.locked(func(r *http.Request) (int, any, error) {
		limit := 20
		if r.URL.Query().Has("limit") {
			var err error
			limit, err = strconv.Atoi(r.URL.Query().Get("limit"))
			if err != nil || limit < 1 || limit > 50 {
				return 0, nil, refused{http.StatusBadRequest, "limit is not valid"}
			}
		}
		all := kept.all()
		return http.StatusOK, object{"data": all[:min(limit, len(all))]}, nil
	}))
	mux.Handle("POST /notes", kept.locked(func(r *http.Request) (int, any, error) {
		note, err := readObject(r, map[string]member{"text": {true, ofLength(1, 200)}})
		if err != nil {
			return 0, nil, err
		}
		return http.StatusCreated, object{"data": kept.add(object{"text": note["text"], "reads": 0})}, nil
	}))
	mux.Handle("GET /notes/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		note, err := kept.find(r)
		if err == nil {
			note["reads"] = note["reads"].(int) + 1
		}
		return http.StatusOK, object{"data": note}, err
	}))
	mux.Handle("DELETE /notes/{id}", kept.locked(func(r *http.Request) (int, any, error) {
		note, err := kept.find(r)
		if err == nil {
			delete(kept.kept, note["id"].(int))
		}
		return http.StatusNoContent, nil, err
	}))
	return mux
}
