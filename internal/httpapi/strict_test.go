package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// A handler that forgets to answer must not send an empty 200.
func TestMustAnswer(t *testing.T) {
	forgetful := func(context.Context, http.ResponseWriter, *http.Request, any) (any, error) { return nil, nil }
	_, err := mustAnswer(forgetful, "createPlant")(t.Context(), nil, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "createPlant") {
		t.Errorf("mustAnswer let nothing pass as an answer: %v", err)
	}
}
