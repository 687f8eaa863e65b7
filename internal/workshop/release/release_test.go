package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sassoftware/go-rpmutils"

	"github.com/plantstore/plantstore/internal/testing/must"
)

// newest returns the version of the release in .build/release, which make reproducible
// makes before it runs these tests.
func newest(t *testing.T) string {
	t.Helper()
	lists, err := filepath.Glob(out + "/plantstore-*.cdx.json")
	must.NoError(t, err)
	if len(lists) != 1 {
		t.Skip("needs a release: make reproducible")
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(lists[0]), "plantstore-"), ".cdx.json")
}

func find(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(out, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("the release has no %s: %v", pattern, err)
	}
	return found
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	must.NoError(t, err)
	return data
}

// output returns what a command prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, text)
	}
	return string(text)
}

// says fails if the program does not print the version, and the commit of this clone
// without a change.
func (p program) says(t *testing.T, file, version string) {
	t.Helper()
	commit := strings.TrimSpace(output(t, "git", "rev-parse", "HEAD"))
	command, want := "--version", p.name+" version "+version+", commit "+commit+"\n"
	if p.name == "plantstore" {
		command, want = "version", "plantstore "+version+", commit "+commit+","
	}
	if got := output(t, file, command); !strings.HasPrefix(got, want) {
		t.Errorf("%s %s prints %swant %s", p.name, command, got, want)
	}
}

func TestChecksums(t *testing.T) {
	newest(t)
	var want strings.Builder
	for _, name := range find(t, "*") {
		if filepath.Base(name) != "SHA256SUMS" {
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(read(t, name)), filepath.Base(name))
		}
	}
	if got := string(read(t, out+"/SHA256SUMS")); got != want.String() {
		t.Errorf("SHA256SUMS is\n%swant\n%s", got, want.String())
	}
}

func TestNotes(t *testing.T) {
	notes := string(read(t, find(t, "NOTES.md")[0]))
	if want := "# Plant Store " + newest(t) + "\n\n"; !strings.HasPrefix(notes, want) || len(notes) < len(want)+20 {
		t.Errorf("the notes are %q", notes)
	}
	if err := writeNotes("v0.0.0-unknown"); err == nil {
		t.Error("a version without a section in api/CHANGELOG.md can be released")
	}
}

// TestFormulas finds the archives for Linux and macOS in the formulas of Homebrew.
func TestFormulas(t *testing.T) {
	version := newest(t)
	for _, p := range programs {
		text := string(read(t, find(t, p.name+".rb")[0]))
		for _, archive := range find(t, p.name+"-*.tar.gz") {
			url := homepage + "/releases/download/" + version + "/" + filepath.Base(archive)
			want := fmt.Sprintf("url %q\n      sha256 \"%x\"\n", url, sha256.Sum256(read(t, archive)))
			if !strings.Contains(text, want) {
				t.Errorf("the formula of %s lacks\n%s, and is\n%s", p.name, want, text)
			}
		}
	}
}

// TestArchives looks at the files in each archive, and runs the programs for this
// platform.
func TestArchives(t *testing.T) {
	version := newest(t)
	for _, p := range programs {
		for _, archive := range slices.Concat(find(t, p.name+"-*.tar.gz"), find(t, p.name+"-*.zip")) {
			folder := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), ".zip")
			t.Run(folder, func(t *testing.T) {
				dir := t.TempDir()
				unpack(t, archive, dir)
				goos := strings.Split(folder, "-")[2]
				got, want := filesIn(t, filepath.Join(dir, folder)), p.wantInArchive(goos)
				if !slices.Equal(got, want) {
					t.Errorf("the archive has the files\n%q, want\n%q", got, want)
				}
				checkLinks(t, filepath.Join(dir, folder), version)
				if strings.HasSuffix(folder, runtime.GOOS+"-"+runtime.GOARCH) {
					p.says(t, filepath.Join(dir, folder, p.name), version)
				}
			})
		}
	}
}

// wantInArchive are the files in an archive, in order.
func (p program) wantInArchive(goos string) []string {
	want := []string{"LICENSE", "LICENSES-OF-MODULES", "README.md", p.fileName(goos)}
	if p.name == "plantstore" {
		want = append(want, "alerts.yaml", "completion/bash", "completion/fish", "completion/zsh", "dashboard.json",
			"kubernetes.yaml", "kubernetes-sqlite.yaml", "kubernetes-webhook.yaml", "litestream.yml", "species.csv")
		for _, page := range pages("cmd/plantstore/manual/*.md") {
			want = append(want, strings.TrimPrefix(page, "cmd/plantstore/"))
		}
		if goos == "linux" {
			want = append(want, "plantstore-backup.service", "plantstore-backup.timer",
				"plantstore-litestream.service", "plantstore-webhook.service", "plantstore.service")
		}
	}
	slices.Sort(want)
	return want
}

// checkLinks follows the links of the pages in a folder: to other pages, or to files of the repository.
func checkLinks(t *testing.T, folder, version string) {
	t.Helper()
	for _, name := range filesIn(t, folder) {
		if filepath.Ext(name) != ".md" {
			continue
		}
		for _, found := range link.FindAllSubmatch(read(t, filepath.Join(folder, name)), -1) {
			if _, err := os.Stat(filepath.Join(folder, filepath.Dir(name), string(found[1]))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, found := range linkToRepository.FindAllSubmatch(read(t, filepath.Join(folder, name)), -1) {
			if _, err := os.Stat(filepath.Join(top, string(found[2]))); err != nil || string(found[1]) != version {
				t.Errorf("%s links to version %s: %v", name, found[1], err)
			}
			here := strings.TrimPrefix(string(found[2]), "cmd/plantstore/")
			if _, err := os.Stat(filepath.Join(folder, here)); err == nil && here != string(found[2]) {
				t.Errorf("%s links to the repository for %s, which is in the folder", name, here)
			}
		}
	}
}

var linkToRepository = regexp.MustCompile(`\]\(` + homepage + `/blob/([^/]+)/([^)#]+)`)

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	must.NoError(t, err)
	return names
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	if strings.HasSuffix(archive, ".tar.gz") {
		output(t, "tar", "-xzf", archive, "-C", dir)
		return
	}
	r, err := zip.OpenReader(archive)
	must.NoError(t, err)
	defer r.Close()
	must.NoError(t, os.CopyFS(dir, r))
}

// TestPackages unpacks the packages for this machine and runs their programs.
func TestPackages(t *testing.T) {
	version := newest(t)
	names := map[string]string{"deb": "_*_amd64.deb", "rpm": "-*.x86_64.rpm"}
	if runtime.GOARCH == "arm64" {
		names = map[string]string{"deb": "_*_arm64.deb", "rpm": "-*.aarch64.rpm"}
	}
	for kind, unpack := range map[string]func(t *testing.T, file, dir string) (version string){"deb": unpackDeb, "rpm": unpackRPM} {
		for _, p := range programs {
			t.Run(kind+" "+p.name, func(t *testing.T) {
				dir := t.TempDir()
				if got := unpack(t, find(t, p.name+names[kind])[0], dir); got != strings.TrimPrefix(version, "v") {
					t.Errorf("the package has the version %s", got)
				}
				p.says(t, dir+"/usr/bin/"+p.name, version)
				checkLinks(t, dir+"/usr/share/doc/"+p.name, version)
				if p.name == "plantstore" {
					checkServicePackage(t, dir)
				}
			})
		}
	}
}

func unpackDeb(t *testing.T, file, dir string) (version string) {
	t.Helper()
	output(t, "dpkg-deb", "-x", file, dir)
	return strings.TrimSpace(output(t, "dpkg-deb", "-f", file, "Version"))
}

func unpackRPM(t *testing.T, file, dir string) (version string) {
	t.Helper()
	r, err := rpmutils.ReadRpm(bytes.NewReader(read(t, file)))
	must.NoError(t, err)
	must.NoError(t, r.ExpandPayload(dir))
	files, err := r.Header.GetFiles()
	must.NoError(t, err)
	for _, f := range files { // ExpandPayload leaves the modes out
		must.NoError(t, os.Chmod(dir+f.Name(), fs.FileMode(f.Mode()).Perm()))
	}
	name, err := r.Header.GetNEVRA()
	must.NoError(t, err)
	return name.Version
}

// checkServicePackage checks that the units run the installed program, and what else only plantstore has.
func checkServicePackage(t *testing.T, dir string) {
	t.Helper()
	for name, want := range map[string]string{
		"plantstore.service":            "\nExecStart=/usr/bin/plantstore serve\n",
		"plantstore-backup.service":     "exec /usr/bin/plantstore backup",
		"plantstore-litestream.service": "\nExecStart=/usr/local/bin/litestream replicate", // it is not in the package
		"plantstore-webhook.service":    "\nExecStart=/usr/bin/plantstore webhook",
	} {
		if unit := string(read(t, dir+"/usr/lib/systemd/system/"+name)); !strings.Contains(unit, want) {
			t.Errorf("%s does not run the program of the package:\n%s", name, unit)
		}
	}
	if page := string(read(t, dir+"/usr/share/doc/plantstore/manual/backup.md")); !strings.HasPrefix(page, "# Backup and restore\n") {
		t.Errorf("the manual of the package begins with %.40q", page)
	}
	if info, err := os.Stat(dir + "/var/backups/plantstore"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the backups is %v, %v", info, err)
	}
}
