//go:build unix

package system_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// TestFirstDeployment runs the commands of the section First production deployment of
// the operator's manual in order, with a folder in place of the root of the machine. The
// test does what systemd does, without its sandbox; the commands that need root
// are left out.
func TestFirstDeployment(t *testing.T) {
	t.Parallel()
	needCurl(t)
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	plantstore, err := exec.LookPath("plantstore")
	must.NoError(t, err)
	root := t.TempDir()
	page, _ := operatorManual(t)
	for _, name := range []string{"usr/local/bin", "etc/systemd/system", "etc/prometheus", "var/lib/plantstore", "var/backups"} {
		must.NoError(t, os.MkdirAll(filepath.Join(root, name), 0o700))
	}
	here := []string{ // what the commands name, and what it is here
		" plantstore /usr/", " " + plantstore + " " + root + "/usr/",
		" /usr/", " " + root + "/usr/", " /etc/", " " + root + "/etc/", ">/etc/", ">" + root + "/etc/", "=/etc/", "=" + root + "/etc/",
		" /var/", " " + root + "/var/", "=/var/", "=" + root + "/var/",
	}
	in := func(text string) string { return strings.NewReplacer(here...).Replace(text) }
	env := append(os.Environ(), "PATH="+filepath.Join(root, "usr/local/bin")+":"+os.Getenv("PATH"), "PLANTSTORE_TOKEN=", "no_proxy=*")
	sh := func(line string, env []string) string {
		t.Helper()
		cmd := program.Command(t, "sh", "-ec", line)
		cmd.Dir, cmd.Env = "../../cmd/plantstore", env
		return strings.ReplaceAll(strings.TrimSpace(program.Finish(t, cmd)), "\r\n", "\n")
	}

	var r *program.Server
	typed := 0
	for _, c := range commands(page) {
		typed++
		got := ""
		switch word := strings.Fields(c.line); {
		case word[0] == "useradd" || word[0] == "chown" || c.line == "systemctl daemon-reload":
			continue
		case c.line == "systemctl enable --now plantstore":
			settings := unitEnvironment(t, in, root, "plantstore.service")
			for i, s := range settings { // ports that are free
				settings[i] = regexp.MustCompile(`^(PLANTSTORE_(ADMIN_)?ADDR)=.*`).ReplaceAllString(s, "$1=127.0.0.1:0")
			}
			if r, err = program.LaunchPath(filepath.Join(root, "usr/local/bin/plantstore"), root, append(env, settings...)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Kill)
			_, port, _ := strings.Cut(strings.TrimPrefix(r.URL, "https://"), ":")
			here = append(here, "http://127.0.0.1:9180", r.AdminURL, ":8443", ":"+port)
		case c.line == "systemctl start plantstore-backup":
			command := strings.NewReplacer("$$", "$", "%%", "%").Replace(unitSettings(t, "plantstore-backup.service")["[Service]ExecStart"])
			settings := unitEnvironment(t, in, root, "plantstore-backup.service")
			day := time.Now().Unix() / 86400
			for range 2 { // the second one replaces the first
				sh(in(" "+command), append(env, settings...))
			}
			last := filepath.Join(root, "var/backups/plantstore", strconv.FormatInt(day%7, 10)+".db")
			content, err := os.ReadFile(last)
			must.NoError(t, err)
			before := filepath.Join(root, "var/backups/plantstore", strconv.FormatInt((day+3)%7, 10)+".db") // of another day
			must.NoError(t, os.WriteFile(before, content, 0o600))
			must.NoError(t, os.Chtimes(before, time.Time{}, time.Now().AddDate(0, 0, -4)))
			backups, err := filepath.Glob(filepath.Join(root, "var/backups/plantstore/[0-6].db"))
			days := int(time.Now().Unix()/86400-day+1) + 1
			if err != nil || len(backups) != days || !slices.Contains(settings, "KEEP=7") {
				t.Errorf("the backups are %q, %v, with %q, want %d with KEEP=7", backups, err, settings, days)
			}
		case word[0] == "systemctl":
			if _, err := os.Stat(filepath.Join(root, "etc/systemd/system", word[len(word)-1])); err != nil {
				t.Errorf("%s: %v", c.line, err)
			}
		case strings.HasPrefix(c.line, "TOKEN="):
			env = append(env, "TOKEN="+sh(in(c.line)+`; echo "$TOKEN"`, env))
		default:
			got = strings.ReplaceAll(sh(in(c.line), env), root, "")
		}
		if !like(c.output, got) {
			t.Errorf("%s\nprints %s\nthe page says %s", c.line, got, c.output)
		}
	}
	if r == nil || typed < 15 {
		t.Fatalf("the page has %d commands, want at least 15 and the start of the service", typed)
	}
	r.End(t, syscall.SIGTERM)
	if log := r.Stderr.String(); strings.Contains(log, "is not known") {
		t.Errorf("the service does not know a variable of the page: %s", log)
	}

	// Prometheus reads the rules that were installed, and the metrics of this service.
	for _, want := range []string{"rule_files: [plantstore.yaml]\n", "targets: ['127.0.0.1:9180']"} {
		if _, err := os.Stat(filepath.Join(root, "etc/prometheus/plantstore.yaml")); err != nil || !strings.Contains(page, want) {
			t.Errorf("the lines for Prometheus lack %q, or %v", want, err)
		}
	}
}

// unitEnvironment returns the settings that a unit gives its program: those in the unit
// and those in /etc/plantstore.env.
func unitEnvironment(t *testing.T, in func(string) string, root, name string) []string {
	t.Helper()
	unit, err := os.ReadFile(filepath.Join(root, "etc/systemd/system", name))
	must.NoError(t, err)
	var env []string
	for _, m := range regexp.MustCompile(`(?m)^Environment=(.*)$`).FindAllStringSubmatch(string(unit), -1) {
		env = append(env, in(m[1]))
	}
	file, err := os.ReadFile(filepath.Join(root, "etc/plantstore.env"))
	must.NoError(t, err)
	return append(env, strings.Fields(string(file))...)
}

// systemd restarts the programs without limit, after a pause each time. By
// default it gives up after five starts in ten seconds, and a start without a
// database fails within milliseconds.
func TestUnitRestartsForever(t *testing.T) {
	for _, unit := range []string{"plantstore.service", "plantstore-webhook.service"} {
		settings := unitSettings(t, unit)
		for name, want := range map[string]string{
			"[Unit]StartLimitIntervalSec": "0", "[Service]Restart": "on-failure", "[Service]RestartSec": "5s",
		} {
			if settings[name] != want {
				t.Errorf("%s of %s is %q, want %q", name, unit, settings[name], want)
			}
		}
	}
}

// The unit of webhook sets variables that the program has. It does not start the program again
// after the exit statuses that need the operator.
func TestWebhookUnit(t *testing.T) {
	help := program.Output(t, "webhook", "--help")
	unit := readme(t, "cmd/plantstore/plantstore-webhook.service")
	names := regexp.MustCompile(`\bPLANTSTORE_\w+`).FindAllString(unit, -1)
	for _, name := range names {
		if !strings.Contains(help, name) {
			t.Errorf("the program has no variable %s", name)
		}
	}
	const status = "5 6" // the position, or the receiver, is gone
	if got := unitSettings(t, "plantstore-webhook.service")["[Service]RestartPreventExitStatus"]; got != status || len(names) < 4 {
		t.Errorf("RestartPreventExitStatus is %s, want %s; the variables are %q", got, status, names)
	}
}

// unitSettings returns the last value of each setting of a systemd unit.
func unitSettings(t *testing.T, name string) map[string]string {
	t.Helper()
	section, settings := "", map[string]string{}
	for line := range strings.Lines(readme(t, "cmd/plantstore/"+name)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		} else if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			settings[section+name] = value
		}
	}
	return settings
}
