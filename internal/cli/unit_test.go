package cli

import (
	"os"
	"strings"
	"testing"
)

// systemd starts the service again without an end, with a pause: by default it
// gives up after five starts in ten seconds, and a start without a database
// fails within milliseconds.
func TestUnitRestartsForever(t *testing.T) {
	text, err := os.ReadFile("../../cmd/plantstore/plantstore.service")
	if err != nil {
		t.Fatal(err)
	}
	section, settings := "", map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		} else if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			settings[section+name] = value
		}
	}
	for name, want := range map[string]string{
		"[Unit]StartLimitIntervalSec": "0", "[Service]Restart": "on-failure", "[Service]RestartSec": "5s",
	} {
		if settings[name] != want {
			t.Errorf("%s is %q, want %q", name, settings[name], want)
		}
	}
}
