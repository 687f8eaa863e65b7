package transfer

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
)

// An import gives up after a while if the service stays broken, and at once if it
// cannot be reached.
func TestImportGivesUp(t *testing.T) {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(broken.Close)
	service, err := NewService(broken.URL, "token")
	must.NoError(t, err)
	service.patience = 300 * time.Millisecond
	u := Upload{Service: service, Stored: func(int) { t.Error("a plant is stored") }, Refuse: func(bad RowError) { t.Error(bad) }}
	file := strings.NewReader("id,name\n1,Rosa\n2,Ficus\n")
	_, err = u.Run(t.Context(), NewReader(file, CSV))
	expect.Message(t, "import", err, "gave up after retrying for 300ms")
	expect.Message(t, "import", err, "502 Bad Gateway")
	if _, ok := errors.AsType[UnavailableError](err); !ok {
		t.Errorf("the error is %T, want UnavailableError", err)
	}
}

// A certificate for another host says for which ones it is.
func TestCertificateOfAnotherHost(t *testing.T) {
	service, err := NewService("https://127.0.0.1", "token")
	must.NoError(t, err)
	for want, certificate := range map[string]*x509.Certificate{
		"is for plants.example.com: use that name":           {DNSNames: []string{"plants.example.com"}},
		"is for a.example or *.b.example: use that name":     {DNSNames: []string{"a.example", "*.b.example"}},
		"is for a.example or 10.0.0.1 or ::1: use that name": {DNSNames: []string{"a.example"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1), net.IPv6loopback}},
		"is for no name: it needs a subjectAltName":          {Subject: pkix.Name{CommonName: "plants.example.com"}},
	} {
		failure := &url.Error{Op: "Get", Err: x509.HostnameError{Certificate: certificate, Host: "127.0.0.1"}}
		expect.Message(t, "explain", service.explain(failure), want)
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
	must.NoError(t, err)
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

// An import waits for as long as the service limits the rate, and that time does
// not count as failing.
func TestImportWaitsForRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, err := NewService("http://plants.example.com", "token")
		must.NoError(t, err)
		began, limited := time.Now(), 0
		service.transport = roundTrip(func(*http.Request) (*http.Response, error) {
			switch now := time.Since(began); {
			case now < 10*time.Minute:
				limited++
				return respond(http.StatusTooManyRequests, "Retry-After", "120", ""), nil
			case now < 10*time.Minute+50*time.Second:
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}
			return respond(http.StatusOK, "", "", `{"plants":[{"name":"Rosa"}],"created":1}`), nil
		})
		counts, err := run(t.Context(), service)
		if want := (client.Created{New: 1}); counts != want || err != nil {
			t.Errorf("Run = %+v, %v, want %+v", counts, err, want)
		}
		if limited != 5 {
			t.Errorf("%d requests in ten minutes, want one in the two minutes of Retry-After", limited)
		}
	})
}

// A first connection that is lost is tried again. One that is refused is more likely a wrong --server.
func TestFirstConnection(t *testing.T) {
	for cause, want := range map[error]client.Created{
		io.EOF:               {Unknown: 1},
		io.ErrUnexpectedEOF:  {Unknown: 1},
		syscall.ECONNRESET:   {Unknown: 1},
		syscall.EPIPE:        {Unknown: 1},
		syscall.ECONNREFUSED: {},
	} {
		synctest.Test(t, func(t *testing.T) {
			service, err := NewService("http://plants.example.com", "token")
			must.NoError(t, err)
			sent := 0
			service.transport = roundTrip(func(*http.Request) (*http.Response, error) {
				if sent++; sent == 1 {
					return nil, cause
				}
				return respond(http.StatusOK, "", "", `{"plants":[{"name":"Rosa"}],"created":0}`), nil
			})
			counts, err := run(t.Context(), service)
			if counts != want || (err != nil) != (want.Unknown == 0) {
				t.Errorf("after %v Run = %+v, %v, want %+v", cause, counts, err, want)
			}
		})
	}
}

// After Ctrl-C a request under way has five seconds, and a pause ends at once.
func TestStopTime(t *testing.T) {
	for _, test := range []struct {
		name     string
		status   int
		takes    time.Duration
		ends     time.Duration
		finished bool
	}{
		{"a request of four seconds", http.StatusOK, 4 * time.Second, 4 * time.Second, true},
		{"a request of ten seconds", http.StatusOK, 10 * time.Second, 6 * time.Second, false},
		{"a pause", http.StatusServiceUnavailable, 0, time.Second, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service, err := NewService("http://plants.example.com", "token")
				must.NoError(t, err)
				service.transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					select {
					case <-r.Context().Done():
						return nil, r.Context().Err()
					case <-time.After(test.takes):
						return respond(test.status, "Retry-After", "30", `{"plants":[{"name":"Rosa"}],"created":1}`), nil
					}
				})
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, stop)
				began := time.Now()
				counts, err := run(ctx, service)
				if !errors.Is(err, context.Canceled) || (counts.New == 1) != test.finished {
					t.Errorf("Run = %+v, %v, want the end of the context and a stored plant: %t", counts, err, test.finished)
				}
				if took := time.Since(began); took != test.ends {
					t.Errorf("the import ended after %v, want %v", took, test.ends)
				}
			})
		})
	}
}

// A request without a response, or with half of one, is sent again after a minute.
func TestRequestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, err := NewService("http://plants.example.com", "token")
		must.NoError(t, err)
		sent := 0
		service.transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			switch sent++; sent {
			case 1:
				resp := respond(http.StatusOK, "", "", "")
				half, w := io.Pipe()
				context.AfterFunc(r.Context(), func() { _ = w.CloseWithError(r.Context().Err()) })
				resp.Body = half
				return resp, nil
			case 2:
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return respond(http.StatusOK, "", "", `{"plants":[{"name":"Rosa"}],"created":0}`), nil
		})
		// Two attempts take longer than an import waits for a success.
		service.patience = time.Hour
		began := time.Now()
		counts, err := run(t.Context(), service)
		if want := (client.Created{Unknown: 1}); counts != want || err != nil {
			t.Errorf("Run = %+v, %v, want %+v", counts, err, want)
		}
		if took := time.Since(began); took < 2*time.Minute || took > 2*time.Minute+time.Second {
			t.Errorf("the import took %v, want two minutes", took)
		}
	})
}

// run imports one plant.
func run(ctx context.Context, s *Service) (client.Created, error) {
	u := Upload{Service: s, Stored: func(int) {}, Refuse: func(RowError) {}}
	return u.Run(ctx, NewReader(strings.NewReader("id,name\n1,Rosa\n"), CSV))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, header, value, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{header: {value}}, Body: io.NopCloser(strings.NewReader(body))}
}
