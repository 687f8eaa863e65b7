package docs

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// send writes a response with content, or a 304 if the client has this version
// already. Other conditions and ranges are ignored, because the failures that
// [http.ServeContent] responds with have no Error in their body.
func send(w http.ResponseWriter, r *http.Request, mediaType, etag, content string) {
	h := w.Header()
	h.Set("ETag", `"`+etag+`"`)
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(content))) // ServeContent does not set it if there is a Content-Encoding
	condition := http.Header{"If-None-Match": r.Header["If-None-Match"]}
	http.ServeContent(w, &http.Request{Method: r.Method, Header: condition}, "", time.Time{}, strings.NewReader(content))
}

var gzipAccepted = regexp.MustCompile(`(?i)(?:^|,)[\t ]*gzip[\t ]*(?:;[\t ]*q=([0-9.]+)[\t ]*)?(?:,|$)`)

// acceptsGzip reports whether Accept-Encoding allows gzip (RFC 9110, section
// 12.5.3).
func acceptsGzip(r *http.Request) bool {
	m := gzipAccepted.FindStringSubmatch(strings.Join(r.Header.Values("Accept-Encoding"), ","))
	return m != nil && (m[1] == "" || strings.Trim(m[1], "0.") != "")
}
