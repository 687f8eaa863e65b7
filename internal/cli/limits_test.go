package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/testing/plantcontract"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]httpapi.Rate{
		"off":       {},
		"0":         {},
		"100/s":     {Limit: 100, Per: time.Second},
		"600/m":     {Limit: 600, Per: time.Minute},
		"5000/h":    {Limit: 5000, Per: time.Hour},
		"1000000/s": {Limit: 1_000_000, Per: time.Second},
	} {
		if got, err := parseRate(text); got != want || err != nil {
			t.Errorf("parseRate(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "often", "100", "-1", "+1", "1.5", "0/s", "1/", "/s", "1/d", "1/S", "1/s/s", "1000001/s", "4000000000/h"} {
		if got, err := parseRate(text); err == nil {
			t.Errorf("parseRate(%q) = %v, want an error", text, got)
		}
	}
}

func TestCheckOrigin(t *testing.T) {
	for _, text := range []string{"*", "https://plants.example.com", "http://localhost:3000", "http://[::1]:3000", "app://plants"} {
		if err := checkOrigin(text); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"", "null", "plants.example.com", "https://", "https://a.example/", "https://a.example/x", "https://u@a.example", "https://A.example", "https://*.example"} {
		if checkOrigin(text) == nil {
			t.Errorf("checkOrigin(%q) = nil, want an error", text)
		}
	}
}

// The flag --max-body reaches the handler, and its smallest value is enough for the
// longest plant in its longest form.
func TestMaxBody(t *testing.T) {
	t.Parallel()
	r, err := launch(t.TempDir(), append(os.Environ(), "PLANTSTORE_TOKEN="), "--addr", "127.0.0.1:0", "--store", "sqlite::memory:", "--print-token", "--max-body", "16KiB")
	if err != nil {
		t.Fatal(err)
	}
	defer r.kill()
	const escaped = `\ud83c\udf31` // one character
	longest := fmt.Sprintf(`{"id":-9223372036854775808,"name":"%s","tag":"%s"}`, strings.Repeat(escaped, 1000), strings.Repeat(escaped, 256))
	for _, c := range []struct {
		bytes int
		want  string
	}{
		{len(longest), "200 OK"},
		{16 << 10, "200 OK"},
		{16<<10 + 1, `"error":40006,"message":"body is larger than the limit of 16384 bytes"`},
	} {
		req, err := http.NewRequest(http.MethodPost, r.url+"/plants", strings.NewReader(longest+strings.Repeat(" ", c.bytes-len(longest))))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + r.token}, "Content-Type": {"application/json"}}
		resp, err := plantcontract.Plants().Client(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := resp.Status + string(body); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("a body of %d bytes gets %.200s, %v, want %s", c.bytes, got, err, c.want)
		}
	}
}

// The flag --max-in-flight reaches the handler: while a request waits for its
// body, another one is refused.
func TestMaxInFlight(t *testing.T) {
	t.Parallel()
	r, err := launch(t.TempDir(), append(os.Environ(), "PLANTSTORE_TOKEN="), "--addr", "127.0.0.1:0", "--print-token", "--max-in-flight", "1")
	if err != nil {
		t.Fatal(err)
	}
	defer r.kill()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(wait.Limit))
	fmt.Fprintf(conn, "POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: 20\r\nExpect: 100-continue\r\n\r\n", r.token)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("the response is %q, %v, want 100 Continue", line, err)
	}
	client := &http.Client{Timeout: wait.Limit}
	if status := r.create(client, 1, "n"); status != http.StatusServiceUnavailable {
		t.Errorf("the second request has the status %d, want 503", status)
	}
}
