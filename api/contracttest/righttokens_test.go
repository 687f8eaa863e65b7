package contracttest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// messages takes a token of a client, and none of an application: both have the same header. It knows one cursor, and some labels,
// waits only where there is something to wait for, and shows its page at any other path.
func messages() *http.ServeMux {
	mux := http.NewServeMux()
	key := func(r *http.Request) error {
		if r.Header.Get("X-Key") != "client" {
			return refused{http.StatusUnauthorized, "no token of a client"}
		}
		return nil
	}
	mux.Handle("GET /messages", answer(func(r *http.Request) (int, any, error) {
		query, err := r.URL.Query(), key(r)
		after, notNumber := strconv.ParseInt(query.Get("after"), 10, 64)
		isKnown := map[string]bool{"": true, "next": true}
		isWrong := map[string]bool{
			"cursor": !isKnown[query.Get("cursor")],
			"wait":   query.Get("wait") != "" && query.Get("wait") != "false",
			"after":  query.Has("after") && (notNumber != nil || after < 0),
		}
		for _, label := range query["labels"] {
			isWrong["labels"] = isWrong["labels"] || !isKnown[label] || label == ""
		}
		for name, is := range isWrong {
			if err == nil && is {
				err = refused{http.StatusBadRequest, name + " is not known"}
			}
		}
		return http.StatusOK, []string{"a"}, err
	}))
	mux.Handle("POST /messages", answer(func(r *http.Request) (int, any, error) {
		if err := key(r); err != nil {
			return 0, nil, err
		}
		number := func(value any) bool { _, is := value.(float64); return is || value == nil }
		later := func(value any) bool {
			text, isText := value.(string)
			at, err := time.Parse(time.RFC3339, strings.ToUpper(text))
			return value == nil || isText && err == nil && at.After(time.Now())
		}
		message, err := readObject(r, map[string]member{
			"text": {true, ofLength(0, 90)}, "expires": {false, later}, "lowest": {false, number}, "highest": {false, number},
		})
		lowest, hasLowest := message["lowest"].(float64)
		highest, hasHighest := message["highest"].(float64)
		if err == nil && hasLowest && hasHighest && lowest >= highest {
			err = refused{http.StatusBadRequest, "the lowest is not below the highest"}
		}
		return http.StatusCreated, object{"sent": true}, err
	}))
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>Messages</title>"))
	})
	return mux
}
