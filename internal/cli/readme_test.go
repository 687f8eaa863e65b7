package cli

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/contract"
)

// TestReadme types the command lines of README's section "Use it" and compares
// what comes back with what is printed there; … stands for anything.
func TestReadme(t *testing.T) {
	t.Parallel()
	r, err := launch(t.TempDir(), []string{"HOME=" + t.TempDir()}, "--addr", "127.0.0.1:0", "--print-token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kill)
	typeCommands(t, tour(t), r, contract.Client(t), "HTTP/1.1")
}

// tour is what README's section "Use it" has one type.
func tour(t *testing.T) []command {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Use it\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return commands(section)
}

// typeCommands sends what curl would, to a service of its own, and compares.
func typeCommands(t *testing.T, all []command, r *running, client *http.Client, proto string) {
	t.Helper()
	vars := map[string]string{"TOKEN": r.token}
	var last *http.Response
	typed := 0
	for _, c := range all {
		words := split(t, c.line, vars)
		if name, value, ok := strings.Cut(words[0], "="); ok && value == `"…"` {
			vars[name] = last.Header.Get(name)
			continue
		}
		req, err := parseCurl(words, r.url)
		if err != nil {
			t.Fatalf("%s: %v", c.line, err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		c.output = strings.Replace(c.output, "HTTP/1.1", proto, 1)
		compare(t, c, resp, string(body))
		last = resp
		typed++
	}
	if typed < 10 {
		t.Errorf("README has %d curl lines to type, want a tour", typed)
	}
}

// command is a line of a shell and what it prints.
type command struct{ line, output string }

// commands finds the indented lines that begin with a $ and what follows them.
func commands(text string) (all []command) {
	for _, block := range strings.Split(text, "\n    $ ")[1:] {
		var indented []string
		for i, line := range strings.Split(block, "\n") {
			if i > 0 && line != "" && !strings.HasPrefix(line, "    ") {
				break
			}
			indented = append(indented, strings.TrimPrefix(line, "    "))
		}
		whole := strings.ReplaceAll(strings.Join(indented, "\n"), "\\\n", "")
		line, output, _ := strings.Cut(whole, "\n")
		all = append(all, command{line, strings.TrimSpace(output)})
	}
	return all
}

// split splits a line as a shell does, as far as README goes: single quotes,
// and double quotes with $NAME in them.
func split(t *testing.T, line string, vars map[string]string) (words []string) {
	t.Helper()
	variable := regexp.MustCompile(`\$[A-Z]+`)
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		word := ""
		for line != "" && line[0] != ' ' {
			switch quote := line[0]; quote {
			case '\'', '"':
				text, rest, ok := strings.Cut(line[1:], string(quote))
				if !ok {
					t.Fatalf("unbalanced quotes: %s", line)
				}
				if quote == '"' {
					text = variable.ReplaceAllStringFunc(text, func(name string) string { return vars[name[1:]] })
				}
				word, line = word+text, rest
			default:
				word, line = word+line[:1], line[1:]
			}
		}
		words = append(words, word)
	}
	return words
}

// parseCurl makes the request that curl would send to the service at url.
func parseCurl(words []string, url string) (*http.Request, error) {
	method, target, body := "", "", ""
	header := http.Header{}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-i":
		case "-X":
			i++
			method = words[i]
		case "-d":
			i++
			body = words[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Set(name, value)
		default:
			target = strings.Replace(words[i], "http://127.0.0.1:8080", url, 1)
		}
	}
	if body != "" {
		if method == "" {
			method = http.MethodPost
		}
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	req, err := http.NewRequest(method, target, strings.NewReader(body))
	if err == nil {
		req.Header = header
	}
	return req, err
}

// compare fails unless the answer is the one that README prints: its status
// line, the headers that it shows, and its body if it shows one.
func compare(t *testing.T, c command, resp *http.Response, body string) {
	t.Helper()
	head, wantBody, _ := strings.Cut(c.output, "\n\n")
	lines := strings.Split(head, "\n")
	if got := resp.Proto + " " + resp.Status; got != lines[0] {
		t.Errorf("%s\nanswered %s, README says %s\n%s", c.line, got, lines[0], body)
	}
	for _, line := range lines[1:] {
		name, want, _ := strings.Cut(line, ": ")
		if got := resp.Header.Get(name); !like(want, got) {
			t.Errorf("%s\nhas %s %q, README says %q", c.line, name, got, want)
		}
	}
	if !like(wantBody, strings.TrimSpace(body)) {
		t.Errorf("%s\nanswered %s\nREADME says %s", c.line, body, wantBody)
	}
}

// like compares two texts; … in the first stands for anything.
func like(want, got string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".+")
	return regexp.MustCompile("^(?s:" + pattern + ")$").MatchString(got)
}
