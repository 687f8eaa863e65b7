package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// visitFlags calls a function with each command and each of its flags.
func visitFlags(t *testing.T, use func(path []string, name, placeholder string)) {
	t.Helper()
	flag := regexp.MustCompile(`(?m)^   (--[a-z-]+)(?:, -\w)?(?: (\S+))?`)
	visitHelp(t, nil, func(path []string, help string) {
		_, options, _ := strings.Cut(help, "OPTIONS:\n")
		for _, match := range flag.FindAllStringSubmatch(options, -1) {
			use(slices.Clone(path), match[1], match[2])
		}
	})
}

// runText runs a command that fails, and returns what it prints.
func runText(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	sys := system{getenv: func(string) string { return "" }, stdout: &out, stderr: &out}
	if status := sys.main(t.Context(), append([]string{"plantstore"}, args...)); status == 0 {
		t.Errorf("plantstore %q has succeeded", args)
	}
	return out.String()
}

// A duration that would make a command repeat something without a pause, or let nothing succeed, is refused.
func TestLeastDurations(t *testing.T) {
	t.Parallel()
	inProcess.Lock()
	defer inProcess.Unlock()
	harmless := map[string]string{
		"--expires":  "the token has expired, and the command says when",
		"--grace":    "the old token ends at once",
		"--log-slow": "each request is logged, as with --log-requests all",
	}
	refused := 0
	visitFlags(t, func(path []string, name, placeholder string) {
		if placeholder != "TIME" || harmless[name] != "" {
			return
		}
		refused++
		said := runText(t, append(path, name+"=1ns", "--no-such-flag")...)
		if !strings.Contains(said, `invalid value "1ns" for `+name+": must be at least ") {
			t.Errorf("plantstore %s %s 1ns: %s", strings.Join(path, " "), name, said)
		}
	})
	if refused < 3 {
		t.Errorf("%d flags have a least duration, want --timeout, --keep-changes and --oidc-max-lifetime", refused)
	}
}

// A file with a secret that all users of the machine may read is named, with the command that changes it.
func TestSharedSecretFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mode says nothing about other users")
	}
	t.Chdir(t.TempDir())
	inProcess.Lock()
	defer inProcess.Unlock()
	secret := filepath.Join(t.TempDir(), "a secret")
	flags := map[string]bool{}
	visitFlags(t, func(path []string, name, placeholder string) {
		isSecret := strings.HasSuffix(name, "-file") || strings.HasSuffix(name, "-key")
		if placeholder != "FILE" || !isSecret {
			return
		}
		flags[name] = true
		args := append(path, name+"="+secret)
		if name == "--token-file" {
			args = append(args, "--server=http://127.0.0.1:1")
		}
		for mode, isShared := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o440: false, 0o644: true, 0o604: true} {
			must.NoError(t, os.WriteFile(secret, []byte("a-token-of-ours\n"), 0o600))
			must.NoError(t, os.Chmod(secret, mode))
			said := runText(t, args...)
			want := "all users of this machine may read the file of " + name + ": run chmod o= '" + secret + "'"
			if strings.Contains(said, want) != isShared {
				t.Errorf("plantstore %q with the mode %o: %s", args, mode, said)
			}
		}
	})
	if len(flags) < 3 {
		t.Errorf("the flags %v have secrets, want --secret-file, --tls-key and --token-file", flags)
	}
}
