package cli

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/plantstore/plantstore/internal/docs"
)

// parseBaseURL reads the address of --base-url, if there is one.
func parseBaseURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := docs.ParseBaseURL(text)
	if err != nil {
		if strings.Contains(text, "@") {
			return nil, fmt.Errorf("--base-url: %w", err) // it may hold a password
		}
		return nil, fmt.Errorf("--base-url %s: %w", text, err)
	}
	return u, nil
}
