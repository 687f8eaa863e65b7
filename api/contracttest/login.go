package contracttest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/run"
	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// LogIn posts a body, a form or an object of JSON, and returns the header for [Options] that the response gives:
// Authorization with the access_token (RFC 6749, section 5.1), or else the cookies. A name and a password in
// the URL are sent as HTTP does, in the header Authorization.
func LogIn(ctx context.Context, url, body string) (http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, */*")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if strings.HasPrefix(body, "{") {
		request.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{
		Timeout: run.RequestTimeout,
		// A login for browsers sets the cookie and leads to a page.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	defer response.Body.Close()
	received, err := io.ReadAll(io.LimitReader(response.Body, scenario.MostRead))
	if err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, fmt.Errorf("login: POST %s: %s: %.200s", request.URL.Redacted(), response.Status, received)
	}
	return credentialsIn(response, received)
}

// isOfToken finds other members that have a token, such as auth_token.
var isOfToken = regexp.MustCompile(`(?i)^(auth|authorization|bearer|id|jwt|session|user|api)?[-_]?(token|jwt)$`)

// credentialsIn is the header of the requests that follow a login.
func credentialsIn(response *http.Response, body []byte) (http.Header, error) {
	answer := scenario.Interaction{Body: body}
	names := slices.DeleteFunc(jsonvalue.Names(answer.Object()), func(name string) bool { return !isOfToken.MatchString(name) })
	for _, name := range append([]string{"access_token", "accessToken", "token"}, names...) {
		if token, _ := answer.Member(name).(string); token != "" {
			return http.Header{"Authorization": {"Bearer " + token}}, nil
		}
	}
	var cookies []string
	for _, cookie := range response.Cookies() {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	if len(cookies) == 0 {
		return nil, fmt.Errorf("login: the response of %s has neither an access_token nor a cookie", response.Request.URL.Redacted())
	}
	return http.Header{"Cookie": {strings.Join(cookies, "; ")}}, nil
}
