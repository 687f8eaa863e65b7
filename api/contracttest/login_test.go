package contracttest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

func TestLogIn(t *testing.T) {
	t.Parallel()
	const refused = `{"error":"invalid_grant"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id, secret, _ := r.BasicAuth()
		switch sent := r.Method + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + string(body) + id + secret; sent {
		case "POST/token application/x-www-form-urlencoded grant_type=password&username=a&password=b":
			_, _ = w.Write([]byte(`{"access_token":"one","token_type":"bearer"}`))
		case "POST/token application/x-www-form-urlencoded grant_type=client_credentials" + "idsecret":
			_, _ = w.Write([]byte(`{"access_token":"two"}`))
		case `POST/login application/json {"user":"a"}`:
			_, _ = w.Write([]byte(`{"token":"three"}`))
		case "POST/login application/x-www-form-urlencoded user=a":
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "four", HttpOnly: true})
			http.SetCookie(w, &http.Cookie{Name: "csrf", Value: "five"})
			http.Redirect(w, r, "/home", http.StatusSeeOther)
		case "POST/login application/x-www-form-urlencoded user=b":
			_, _ = w.Write([]byte(`{"auth_token":"six","status":"success"}`))
		case "POST/nothing application/x-www-form-urlencoded ":
		default:
			http.Error(w, refused, http.StatusBadRequest)
		}
	}))
	defer server.Close()
	for _, c := range []struct {
		path, body string
		want       http.Header
		err        string
	}{
		{"/token", "grant_type=password&username=a&password=b", http.Header{"Authorization": {"Bearer one"}}, ""},
		{"//id:secret@/token", "grant_type=client_credentials", http.Header{"Authorization": {"Bearer two"}}, ""},
		{"/login", `{"user":"a"}`, http.Header{"Authorization": {"Bearer three"}}, ""},
		{"/login", "user=a", http.Header{"Cookie": {"session=four; csrf=five"}}, ""},
		{"/login", "user=b", http.Header{"Authorization": {"Bearer six"}}, ""},
		{"/nothing", "", nil, "neither an access_token nor a cookie"},
		{"/token", "grant_type=password", nil, "400 Bad Request: " + refused},
		{"/\x00", "", nil, "invalid control character"},
	} {
		url := server.URL + c.path
		if user, rest, hasUser := strings.Cut(strings.TrimPrefix(c.path, "//"), "@"); hasUser {
			url = strings.Replace(server.URL, "//", "//"+user+"@", 1) + rest
		}
		got, err := LogIn(t.Context(), url, c.body)
		fails := err != nil && c.err != "" && strings.Contains(err.Error(), c.err)
		if !fails && (err != nil || !reflect.DeepEqual(got, c.want)) {
			t.Errorf("POST %s %s gives %v, %v; want %v, %s", c.path, c.body, got, err, c.want, c.err)
		}
	}
}
