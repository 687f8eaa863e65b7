package transfer

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A service that stays broken is given up, one that is not there at once.
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
	u := Upload{Service: service, Stored: func(int) { t.Error("something is stored") }, Refuse: func(bad RowError) { t.Error(bad) }}
	file := strings.NewReader("id,name\n1,Rosa\n2,Ficus\n")
	err = u.Run(t.Context(), NewReader(file, CSV))
	if err == nil || !strings.Contains(err.Error(), "gave up after 300ms of trying") || !strings.Contains(err.Error(), "502 Bad Gateway") {
		t.Errorf("import says %v", err)
	}
}
