package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"contracttest": main}) }

// TestScripts types the command as its users do. Beside the commands of testscript the scripts have
//
//	serve SERVICE        starts a service of things: right, wrong, secured, trusting (any key), guarded (all paths
//	                     are) or hanging (after some requests), one that needs a login, or one of notes; sets $URL
//	hangs                waits until the service gives no more responses
//	exits STATUS ARG...  runs contracttest, which must exit with the status
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"serve": serve, "exits": exits, "hangs": hangs},
	})
}

func serve(ts *testscript.TestScript, _ bool, args []string) {
	mux := http.NewServeMux()
	if args[0] == "notes" {
		addNotes(mux)
	}
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Key")
		isRefused := args[0] == "secured" && key != "a-secret-key" || args[0] == "trusting" && key == ""
		if isRefused {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if args[0] == "wrong" {
			fmt.Fprintf(w, `{"id":"%d"}`, id)
		} else {
			fmt.Fprintf(w, `{"id":%d}`, id)
		}
	})
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(ts.ReadFile("things.yaml")))
	})
	var requests atomic.Int64
	hanging := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if args[0] == "login" && r.URL.Path == "/token" && r.FormValue("password") == "a-password" {
			fmt.Fprint(w, `{"access_token":"a-secret-token"}`)
			return
		}
		if args[0] == "login" && r.Header.Get("Authorization") != "Bearer a-secret-token" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		const answered = 9
		if n := requests.Add(1); args[0] == "hanging" && n > answered {
			if n == answered+1 {
				close(hanging)
			}
			<-r.Context().Done()
			return
		}
		if args[0] == "guarded" && r.Header.Get("X-Key") != "a-secret-key" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	ts.Setenv("URL", server.URL)
	hangings.Store(ts, hanging)
}

// hangings are closed when the service of a script gives no more responses.
var hangings sync.Map

func hangs(ts *testscript.TestScript, _ bool, _ []string) {
	hanging, _ := hangings.Load(ts)
	select {
	case <-hanging.(chan struct{}):
	case <-time.After(time.Minute):
		ts.Fatalf("the service responds to all requests")
	}
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	err, status := ts.Exec("contracttest", args[1:]...), 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		status = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(status) != args[0] {
		ts.Fatalf("contracttest exits with %d, want %s", status, args[0])
	}
}
