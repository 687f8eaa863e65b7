package transfer

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// An import gives up after a while if the service stays broken, and at once if it
// cannot be reached.
func TestImportGivesUp(t *testing.T) {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(broken.Close)
	service, err := NewService(broken.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	service.patience = 300 * time.Millisecond
	u := Upload{Service: service, Stored: func(int) { t.Error("a plant is stored") }, Refuse: func(bad RowError) { t.Error(bad) }}
	file := strings.NewReader("id,name\n1,Rosa\n2,Ficus\n")
	_, err = u.Run(t.Context(), NewReader(file, CSV))
	if err == nil || !strings.Contains(err.Error(), "gave up after retrying for 300ms") || !strings.Contains(err.Error(), "502 Bad Gateway") {
		t.Errorf("import says %v", err)
	}
	if _, ok := errors.AsType[UnavailableError](err); !ok {
		t.Errorf("the error is %T, want UnavailableError", err)
	}
}

// An import also waits for a service that accepts requests but does not respond.
func TestImportWaitsForSlowService(t *testing.T) {
	received, respond := make(chan struct{}), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(received)
		<-respond
	}))
	t.Cleanup(silent.Close)
	service, err := NewService(silent.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- service.check(t.Context()) }()
	<-received
	if wait := service.Waiting(); wait != nil {
		t.Errorf("Waiting() = %+v at once", wait)
	}
	service.heard.Add(-int64(silence))
	if wait := service.Waiting(); wait == nil || !strings.HasSuffix(wait.Reason.Error(), "does not respond") {
		t.Errorf("after %v without a response Waiting() = %+v", silence, wait)
	}
	close(respond)
	<-ended
	if wait := service.Waiting(); wait != nil {
		t.Errorf("Waiting() = %+v after the response", wait)
	}
}

// An older service does not say how many plants of a batch are new.
func TestImportIntoOlderService(t *testing.T) {
	older := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"plants":[{"name":"Rosa"},{"name":"Ficus"}]}`))
	}))
	t.Cleanup(older.Close)
	service, err := NewService(older.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	u := Upload{Service: service, Stored: func(int) {}, Refuse: func(bad RowError) { t.Error(bad) }}
	counts, err := u.Run(t.Context(), NewReader(strings.NewReader("id,name\n1,Rosa\n2,Ficus\n"), CSV))
	if want := (Counts{Either: 2}); counts != want || err != nil {
		t.Errorf("Run = %+v, %v, want %+v", counts, err, want)
	}
}
