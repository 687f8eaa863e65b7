package cli

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/plantstore/plantstore/internal/docs"
)

// parseBaseURL parses the value of --base-url; it returns nil if that is empty.
func parseBaseURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := docs.ParseBaseURL(text)
	if err != nil {
		if strings.Contains(text, "@") {
			return nil, fmt.Errorf("--base-url: %w", err) // text may contain a password
		}
		return nil, fmt.Errorf("--base-url %s: %w", text, err)
	}
	return u, nil
}
