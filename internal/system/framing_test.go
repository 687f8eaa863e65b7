package system_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// A request with Transfer-Encoding and Content-Length ends with its last chunk, and the connection stays open: the bytes
// that follow are the next request. The operator's manual says so under "Behind a proxy".
func TestChunksWithContentLength(t *testing.T) {
	t.Parallel()
	r := program.Serve(t, "sqlite::memory:")
	for id, headers := range []string{
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
		"Content-Length: 1000\r\nTransfer-Encoding: chunked\r\n",
		"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
	} {
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(r.URL, "http://"), wait.Limit)
		must.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		must.NoError(t, conn.SetDeadline(time.Now().Add(wait.Limit)))
		plant := fmt.Sprintf(`{"id":%d,"name":"Ficus lyrata"}`, id)
		common := "Host: plants\r\nAuthorization: Bearer " + r.Token + "\r\n"
		create := fmt.Sprintf("POST /plants HTTP/1.1\r\n%sContent-Type: application/json\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n",
			common, headers, len(plant), plant)
		get := fmt.Sprintf("GET /plants/%d HTTP/1.1\r\n%s\r\n", id, common)
		_, err = io.WriteString(conn, create+get)
		must.NoError(t, err)
		responses := bufio.NewReader(conn)
		for _, request := range []string{"the create", "the request after it"} {
			resp, err := http.ReadResponse(responses, nil)
			must.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			must.NoError(t, err)
			if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "Ficus lyrata") {
				t.Errorf("with %q %s gets %s %s", headers, request, resp.Status, body)
			}
			if resp.Close {
				t.Errorf("with %q the connection is closed after %s", headers, request)
			}
		}
	}
}
