package contract

import (
	"net/http"
	"net/http/httptest"
)

// inProcess lets a handler answer without a network.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	r.RequestURI = r.URL.RequestURI()
	h.ServeHTTP(w, r)
	resp := w.Result()
	if r.Method == http.MethodHead {
		resp.Body = http.NoBody // as net/http has it
	}
	return resp, nil
}
