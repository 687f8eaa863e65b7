package system_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
)

// readme returns the text of a page of the documentation.
func readme(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	must.NoError(t, err)
	return string(text)
}

// TestReadmeCurlCommands runs the curl commands in the documentation, and compares
// the responses with those on the page, where … matches any text.
func TestReadmeCurlCommands(t *testing.T) {
	t.Parallel()
	needCurl(t)
	for name, least := range map[string]int{"README.md": 3, "api/README.md": 12} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := program.Serve(t, "plantstore.db")
			all := curls(readme(t, name))
			if len(all) < least {
				t.Errorf("the page has %d curl lines, want at least %d", len(all), least)
			}
			typeCommands(t, all, r)
		})
	}
}

func needCurl(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
}

// curls returns the curl commands of a page, and the commands that keep an ETag.
func curls(page string) []command {
	return slices.DeleteFunc(commands(page), func(c command) bool {
		return !strings.HasPrefix(c.line, "curl ") && !strings.HasPrefix(c.line, "ETAG=")
	})
}

// operatorManual returns the section of the operator's manual about a first deployment,
// which TestFirstDeployment runs, and the rest: its other sections, and the pages that it lists.
func operatorManual(t *testing.T) (deployment, rest string) {
	t.Helper()
	before, rest, ok := strings.Cut(readme(t, "cmd/plantstore/README.md"), "\n## First production deployment\n")
	deployment, after, next := strings.Cut(rest, "\n## ")
	if !ok || !next {
		t.Fatal("the operator's manual has no section First production deployment")
	}
	listed := regexp.MustCompile(`(?m)^\| \[.*\]\((manual/.*\.md)\)`).FindAllStringSubmatch(before, -1)
	if files, err := os.ReadDir("../../cmd/plantstore/manual"); err != nil || len(files) != len(listed) {
		t.Fatalf("the operator's manual lists %d pages of %d, %v", len(listed), len(files), err)
	}
	for _, page := range listed {
		after += readme(t, "cmd/plantstore/"+page[1])
	}
	return deployment, before + "\n## " + after
}

// TestOperatorManualCommands runs the other commands of the operator's manual in
// order, in one folder, while the service runs that one of them starts.
func TestOperatorManualCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.NoError(t, os.WriteFile(filepath.Join(dir, "species.csv"), []byte(readme(t, "cmd/plantstore/species.csv")), 0o600)) // as in an archive
	env := append(os.Environ(), "PLANTSTORE_ADDR=127.0.0.1:0", "PLANTSTORE_TOKEN=correct-horse-battery-staple")
	typed := 0
	_, page := operatorManual(t)
	for _, c := range commands(page) {
		switch {
		case strings.HasSuffix(c.line, " plantstore serve"):
			r, err := program.Launch(dir, env)
			must.NoError(t, err)
			t.Cleanup(r.Kill)
			if want := strings.Replace(c.output, "http://127.0.0.1:8080", r.URL, 1); strings.TrimSpace(r.Stdout.String()) != want {
				t.Errorf("%s\nprints %s\nthe page says %s", c.line, &r.Stdout, c.output)
			}
			env = append(env, "PLANTSTORE_SERVER="+r.URL)
		case strings.HasPrefix(c.line, "plantstore "):
			cmd := program.Command(t, "sh", "-c", c.line)
			cmd.Dir, cmd.Env = dir, env
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("%s\nends with %v: %s", c.line, err, &stderr)
			}
			// export prints its result on stderr, because stdout may be the file.
			if got := strings.TrimSpace(stdout.String()); !like(c.output, got) && !like(c.output, strings.TrimSpace(stderr.String())) {
				t.Errorf("%s\nprints %s%s\nthe page says %s", c.line, got, &stderr, c.output)
			}
		case c.line == "go install ./cmd/plantstore", // the tests have built it
			strings.HasPrefix(c.line, "curl "): // TestOperatorManualTrace
			continue
		default:
			t.Errorf("no test runs %s", c.line)
		}
		typed++
	}
	if typed < 6 {
		t.Errorf("the page has %d commands, want at least 6", typed)
	}
}

// TestOperatorManualTrace sends the request with a traceparent that the operator's
// manual shows, and compares the log line.
func TestOperatorManualTrace(t *testing.T) {
	t.Parallel()
	needCurl(t)
	_, page := operatorManual(t)
	r := program.Serve(t, "sqlite::memory:", "--log-requests", "all", "--log-slow", "0s")
	all := curls(page)
	if len(all) != 1 {
		t.Fatalf("the page has %d curl lines, want 1", len(all))
	}
	runCurl(t, r, all[0].line, "TOKEN="+r.Token)
	r.End(t, syscall.SIGTERM)
	line := regexp.MustCompile(`(?m)^.*"msg":"request",.*$`).FindString(r.Stderr.String())
	want := regexp.MustCompile(`(?m)^    (\{.*"msg":"request",.*\})$`).FindStringSubmatch(page)
	if want == nil || !like(want[1], line) {
		t.Errorf("the log has %s\nthe page says %q", line, want)
	}
}

// TestReadmeLinks checks every link within the repository, and every make
// target and drill that the documentation names.
func TestReadmeLinks(t *testing.T) {
	t.Parallel()
	makefile, drills := readme(t, "Makefile"), readme(t, ".ci/drill")
	manual, err := fs.Glob(os.DirFS("../.."), "cmd/plantstore/manual/*.md")
	must.NoError(t, err)
	for _, name := range append(manual, "README.md", "api/README.md", "cmd/plantstore/README.md", "internal/README.md",
		"internal/workshop/bench/README.md", ".github/SECURITY.md", ".github/CONTRIBUTING.md") {
		text := readme(t, name)
		for _, m := range regexp.MustCompile(`\]\(([^)\s]*)\)`).FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			page := text
			if target != "" {
				info, err := os.Stat(filepath.Join("../..", filepath.Dir(name), target))
				if err != nil {
					t.Errorf("%s links to %s: %v", name, m[1], err)
					continue
				}
				if info.IsDir() || anchor == "" {
					continue
				}
				page = readme(t, filepath.Join(filepath.Dir(name), target))
			}
			if !slices.Contains(anchors(page), anchor) {
				t.Errorf("%s links to %s, a heading that does not exist", name, m[1])
			}
		}
		for _, m := range regexp.MustCompile("(?m)(?:`|^    |^\\$ )(make|.ci/drill) ([a-z][a-z-]+)").FindAllStringSubmatch(text, -1) {
			target := m[1] == "make" && regexp.MustCompile(`(?m)^`+m[2]+`:`).MatchString(makefile)
			drill := regexp.MustCompile(`(?m)^` + m[2] + `\(\) \{ ## `).MatchString(drills)
			if !target && !drill {
				t.Errorf("%s names %s %s, which does not exist", name, m[1], m[2])
			}
		}
	}
}

// anchors returns the anchors of the headings of a page.
func anchors(page string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		name := strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		all = append(all, regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(name, ""))
	}
	return all
}

// typeCommands runs curl commands, and compares the responses with those on the page: the status
// line, the headers that the page has, and the body if it has one.
func typeCommands(t *testing.T, all []command, r *program.Server) {
	t.Helper()
	env, etag := []string{"TOKEN=" + r.Token}, ""
	for _, c := range all {
		if strings.HasPrefix(c.line, "ETAG=") { // a person copies it
			env = append(env, "ETAG="+etag)
			continue
		}
		head, body, _ := strings.Cut(runCurl(t, r, c.line, env...), "\n\n")
		wantHead, wantBody, _ := strings.Cut(c.output, "\n\n")
		if strings.HasPrefix(r.URL, "https:") {
			wantHead = regexp.MustCompile(`^HTTP/1\.1 (\d+) .*`).ReplaceAllString(wantHead, "HTTP/2 $1 ")
		}
		for want := range strings.SplitSeq(wantHead, "\n") {
			if !slices.ContainsFunc(strings.Split(head, "\n"), func(line string) bool {
				return like(strings.ToLower(want), strings.ToLower(line))
			}) {
				t.Errorf("%s\nhas\n%s\nthe page says %s", c.line, head, want)
			}
		}
		if !likeBody(wantBody, strings.TrimSpace(body)) {
			t.Errorf("%s\nthe body is %s\nthe page says %s", c.line, body, wantBody)
		}
		if m := regexp.MustCompile(`(?mi)^etag: (.*)$`).FindStringSubmatch(head); m != nil {
			etag = m[1]
		}
	}
}

// runCurl runs a curl command with the URL of a service, and returns what it prints.
func runCurl(t *testing.T, r *program.Server, line string, env ...string) string {
	t.Helper()
	line = strings.Replace(line, "http://127.0.0.1:8080", r.URL, 1)
	if strings.HasPrefix(r.URL, "https:") {
		line = strings.Replace(line, "curl ", "curl --cacert cert.pem ", 1)
	}
	cmd := program.Command(t, "sh", "-c", line)
	cmd.Dir, cmd.Env = r.Cmd.Dir, append(env, "PATH="+os.Getenv("PATH"), "no_proxy=*")
	return strings.ReplaceAll(program.Finish(t, cmd), "\r\n", "\n")
}

// command is a command line and its output.
type command struct{ line, output string }

// commands returns the lines behind a $ in the console blocks of a page, each
// with the output that follows it.
func commands(page string) (all []command) {
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		for _, text := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			whole := strings.ReplaceAll(text, "\\\n", "")
			line, output, _ := strings.Cut(whole, "\n")
			all = append(all, command{strings.TrimSpace(line), strings.TrimSpace(output)})
		}
	}
	return all
}

// likeBody compares two bodies. The members of JSON may have another order: it is that of the alphabet in
// responses, and .ci/rename changes names.
func likeBody(want, got string) bool {
	var wanted, gotten any
	if json.Unmarshal([]byte(want), &wanted) != nil || json.Unmarshal([]byte(got), &gotten) != nil {
		return like(want, got)
	}
	wantSorted, wantErr := json.Marshal(wanted)
	gotSorted, gotErr := json.Marshal(gotten)
	return errors.Join(wantErr, gotErr) == nil && like(string(wantSorted), string(gotSorted))
}

// like compares two texts; … in the first matches any text.
func like(want, got string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".+")
	return regexp.MustCompile("^(?s:" + pattern + ")$").MatchString(got)
}
