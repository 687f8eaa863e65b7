package docs

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// send writes a response whose body is the given parts, or a 304 if the client has
// this version already.
func send(w http.ResponseWriter, r *http.Request, mediaType, etag string, parts ...string) {
	h := w.Header()
	h.Set("ETag", `"`+etag+`"`)
	if has(r, etag) {
		h.Del("Content-Encoding") // there is no content (RFC 9110, section 15.4.5)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(length))
	for _, part := range parts {
		if _, err := io.WriteString(w, part); err != nil {
			return // the client has closed the connection
		}
	}
}

// has reports whether If-None-Match lists an entity tag (RFC 9110, section
// 13.1.2). Tags of this package contain no comma, so a comma always separates two
// tags.
func has(r *http.Request, etag string) bool {
	for tag := range strings.SplitSeq(strings.Join(r.Header.Values("If-None-Match"), ","), ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == `"`+etag+`"` {
			return true
		}
	}
	return false
}

var gzipAccepted = regexp.MustCompile(`(?i)(?:^|,)[\t ]*gzip[\t ]*(?:;[\t ]*q=([0-9.]+)[\t ]*)?(?:,|$)`)

// acceptsGzip reports whether Accept-Encoding allows gzip (RFC 9110, section
// 12.5.3).
func acceptsGzip(r *http.Request) bool {
	m := gzipAccepted.FindStringSubmatch(strings.Join(r.Header.Values("Accept-Encoding"), ","))
	return m != nil && (m[1] == "" || strings.Trim(m[1], "0.") != "")
}
