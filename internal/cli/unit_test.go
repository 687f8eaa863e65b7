package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// systemd restarts the service without limit, after a pause each time. By
// default it gives up after five starts in ten seconds, and a start without a
// database fails within milliseconds.
func TestUnitRestartsForever(t *testing.T) {
	settings := unitSettings(t, "plantstore.service")
	for name, want := range map[string]string{
		"[Unit]StartLimitIntervalSec": "0", "[Service]Restart": "on-failure", "[Service]RestartSec": "5s",
	} {
		if settings[name] != want {
			t.Errorf("%s is %q, want %q", name, settings[name], want)
		}
	}
}

// The unit of the daily backup keeps KEEP backups and replaces the oldest.
func TestBackupUnit(t *testing.T) {
	t.Parallel()
	settings := unitSettings(t, "plantstore-backup.service")
	command := strings.NewReplacer("$$", "$", "%%", "%", "/usr/local/bin/plantstore", "plantstore", "/var/backups/plantstore", ".").
		Replace(settings["[Service]ExecStart"])
	dir := t.TempDir()
	watched(t, dir, "plantstore.db").end(t, syscall.SIGTERM)
	day := time.Now().Unix() / 86400
	for range 2 {
		cmd := newCommand(t, "sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), settings["[Service]Environment"], "PLANTSTORE_STORE=plantstore.db")
		finish(t, cmd)
	}
	backups, err := filepath.Glob(filepath.Join(dir, "[0-6].db"))
	days := time.Now().Unix()/86400 - day + 1
	if err != nil || int64(len(backups)) != days || settings["[Service]Environment"] != "KEEP=7" {
		t.Errorf("the backups are %q, %v, with %s, want %d with KEEP=7", backups, err, settings["[Service]Environment"], days)
	}
}

// unitSettings returns the last value of each setting of a systemd unit.
func unitSettings(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../cmd/plantstore/" + name)
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
	return settings
}
