// Package gate shows contracttest as a gate of pull requests: repositories with a small service in Python and in Node, a document
// and a workflow of eight lines. The test runs the steps of the workflow as a runner does.
package gate

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// version is what the workflows name.
const version = "v1.0.0"

type workflow struct {
	Jobs map[string]struct {
		Steps []struct {
			Run, Uses string
			With      map[string]string
		}
	}
}

func TestGate(t *testing.T) {
	releases := release(t)
	for _, each := range []struct{ folder, file, right, wrong string }{
		{"python", "service.py", "next(ids)", "len(notes) + 1"},
		{"node", "service.mjs", "lastID + 1", "notes.size + 1"},
	} {
		t.Run(each.folder, func(t *testing.T) {
			repository := t.TempDir()
			must.NoError(t, os.CopyFS(repository, os.DirFS(each.folder)))
			port := freePort(t)
			replaceIn(t, filepath.Join(repository, each.file), "8080", port)
			replaceIn(t, filepath.Join(repository, ".github/workflows/contract.yml"), "8080", port)
			text, err := os.ReadFile(filepath.Join(repository, ".github/workflows/contract.yml"))
			must.NoError(t, err)
			if lines := bytes.Count(text, []byte("\n")); lines > 8 {
				t.Errorf("the workflow has %d lines, want at most 8", lines)
			}
			var of workflow
			must.NoError(t, yaml.Unmarshal(text, &of))
			if log, err := of.run(t, repository, releases); err != nil || strings.Contains(log, "::error") {
				t.Errorf("for the right service the job ends with %v:\n%s", err, log)
			}

			// Ids that are counted are given again after a deletion.
			replaceIn(t, filepath.Join(repository, each.file), each.right, each.wrong)
			log, err := of.run(t, repository, releases)
			if each.folder == "python" {
				checkReadme(t, log)
			}
			annotation := `(?m)^::error file=openapi\.yaml,line=11,title=[^:]*addNote[^:]*::.*identity`
			if err == nil || !regexp.MustCompile(annotation).MatchString(log) {
				t.Errorf("for the wrong service the job ends with %v, without %s:\n%s", err, annotation, log)
			}
			summary, err := os.ReadFile(filepath.Join(repository, "summary.md"))
			if err != nil || !strings.Contains(string(summary), "identity") {
				t.Errorf("the summary of the job is %v\n%s", err, summary)
			}
		})
	}
}

// freePort returns a port that no program uses: 8080 may be taken here.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.NoError(t, err)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	must.NoError(t, err)
	return port
}

// replaceIn replaces a text that a file must have.
func replaceIn(t *testing.T, name, old, text string) {
	t.Helper()
	before, err := os.ReadFile(name)
	must.NoError(t, err)
	if !bytes.Contains(before, []byte(old)) {
		t.Fatalf("%s has no %q", name, old)
	}
	must.NoError(t, os.WriteFile(name, bytes.ReplaceAll(before, []byte(old), []byte(text)), 0o600))
}

// The guide shows the workflow of the service in Python.
func TestGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../api/contracttest/README.md")
	must.NoError(t, err)
	text, err := os.ReadFile("python/.github/workflows/contract.yml")
	must.NoError(t, err)
	if !strings.Contains(string(guide), "```yaml\n"+string(text)+"```\n") {
		t.Error("api/contracttest/README.md has another workflow")
	}
}

// checkReadme checks that the command has printed what README.md says; … stands for any text.
func checkReadme(t *testing.T, log string) {
	t.Helper()
	page, err := os.ReadFile("../../../README.md")
	must.NoError(t, err)
	_, printed, hasCommand := strings.Cut(string(page), "\n$ contracttest openapi.yaml http://127.0.0.1:8080\n")
	printed, _, hasEnd := strings.Cut(printed, "\n```")
	pattern := strings.ReplaceAll(regexp.QuoteMeta(printed), "…", ".+")
	pattern = strings.ReplaceAll(pattern, ":8080", `:\d+`)
	if !hasCommand || !hasEnd || !regexp.MustCompile("(?ms)^"+pattern+"$").MatchString(log) {
		t.Errorf("README.md has another text than\n%s", log)
	}
}

// run runs the steps of the only job, and returns the log of the last one.
func (w workflow) run(t *testing.T, repository, releases string) (log string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	action, pathErr := filepath.Abs("../../../.github/actions/contracttest/run")
	must.NoError(t, pathErr)
	for _, step := range w.Jobs["contract"].Steps {
		switch {
		case step.Run != "":
			// A runner ends what was started when the job ends.
			background := exec.CommandContext(ctx, "bash", "-ec", "exec "+strings.TrimSuffix(step.Run, " &"))
			background.Dir = repository
			must.NoError(t, background.Start())
			defer func() { _ = background.Process.Kill(); _ = background.Wait() }()
		case strings.HasPrefix(step.Uses, "plantstore/"):
			_, ref, _ := strings.Cut(step.Uses, "@")
			command := exec.CommandContext(ctx, "bash", action)
			command.Dir = repository
			command.Env = append(os.Environ(), "RELEASES="+releases, "VERSION="+ref, "STRICT=true", "OPTIONS=--max-time '60s'",
				"DOCUMENT="+step.With["document"], "URL="+step.With["url"], "GITHUB_STEP_SUMMARY="+filepath.Join(repository, "summary.md"))
			output, runErr := command.CombinedOutput()
			log, err = string(output), runErr
		}
	}
	return log, err
}

// release makes a release of contracttest for this machine, and returns its URL.
func release(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "download", version)
	must.NoError(t, os.MkdirAll(folder, 0o700))
	program := filepath.Join(t.TempDir(), "contracttest")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/contracttest")
	build.Dir = "../../.."
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	text, err := os.ReadFile(program)
	must.NoError(t, err)
	name := "contracttest-" + version + "-" + runtime.GOOS + "-" + runtime.GOARCH
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	must.NoError(t, files.WriteHeader(&tar.Header{Name: name + "/contracttest", Mode: 0o755, Size: int64(len(text))}))
	_, err = files.Write(text)
	must.NoError(t, err)
	must.NoError(t, files.Close())
	must.NoError(t, zipped.Close())
	must.NoError(t, os.WriteFile(filepath.Join(folder, name+".tar.gz"), archive.Bytes(), 0o600))
	sums := fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(archive.Bytes()), name)
	must.NoError(t, os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(sums), 0o600))
	return "file://" + filepath.Dir(filepath.Dir(folder))
}
