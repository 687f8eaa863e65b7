package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
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

// TestImages checks the parts of the images against each other, and their configurations
// against what the Dockerfiles say. .ci/container runs them.
func TestImages(t *testing.T) {
	second := float64(time.Second)
	for name, want := range map[string]map[string]any{
		"plantstore": {
			"User": "65532:65532", "WorkingDir": "/data", "Volumes": map[string]any{"/data": map[string]any{}},
			"ExposedPorts": map[string]any{"8080/tcp": map[string]any{}},
			"Env":          []any{"PLANTSTORE_ADDR=0.0.0.0:8080", "PLANTSTORE_STORE=/data/plantstore.db"},
			"Entrypoint":   []any{"/plantstore"}, "Cmd": []any{"serve"},
			"Healthcheck": map[string]any{
				"Test": []any{"CMD", "/plantstore", "healthcheck"}, "Retries": 3.0,
				"Interval": 10 * second, "Timeout": 5 * second, "StartPeriod": 10 * second,
			},
		},
		"contracttest": {"User": "65532:65532", "WorkingDir": "/work", "Entrypoint": []any{"/contracttest"}},
	} {
		t.Run(name, func(t *testing.T) { checkImage(t, name, want) })
	}
}

// checkImage checks the image of a program.
func checkImage(t *testing.T, program string, wantConfig map[string]any) {
	t.Helper()
	version := newest(t)
	dir := t.TempDir()
	image := find(t, program+"-*-linux-"+runtime.GOARCH+".image.tar")[0]
	if info, err := os.Stat(image); err != nil || info.Size() > 15_000_000 {
		t.Errorf("the image is %d bytes, %v; want at most 15 MB", info.Size(), err)
	}
	output(t, "tar", "-xf", image, "-C", dir)
	decode := func(name string, v any) {
		t.Helper()
		must.NoError(t, json.Unmarshal(read(t, filepath.Join(dir, name)), v))
	}
	type descriptor struct {
		Digest string
		Size   int
	}
	blob := func(d descriptor) (name string) {
		t.Helper()
		name = "blobs/" + strings.Replace(d.Digest, ":", "/", 1)
		data := read(t, filepath.Join(dir, name))
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); got != d.Digest || len(data) != d.Size {
			t.Fatalf("%s has the digest %s and %d bytes, want %d", name, got, len(data), d.Size)
		}
		return name
	}
	var index struct{ Manifests []descriptor }
	decode("index.json", &index)
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode(blob(index.Manifests[0]), &manifest)
	configName, layerName := blob(manifest.Config), blob(manifest.Layers[0])
	var config struct {
		Config map[string]any
		RootFS struct {
			IDs []string `json:"diff_ids"`
		}
	}
	decode(configName, &config)
	layer, err := gzip.NewReader(bytes.NewReader(read(t, filepath.Join(dir, layerName))))
	must.NoError(t, err)
	sum := sha256.New()
	_, err = io.Copy(sum, layer)
	must.NoError(t, err)
	if got := []string{fmt.Sprintf("sha256:%x", sum.Sum(nil))}; !slices.Equal(got, config.RootFS.IDs) {
		t.Errorf("the layer has the digest %s, the configuration says %s", got, config.RootFS.IDs)
	}
	type docker struct {
		Config           string
		RepoTags, Layers []string
	}
	var forDocker []docker
	decode("manifest.json", &forDocker)
	want := []docker{{Config: configName, RepoTags: []string{program + ":" + version}, Layers: []string{layerName}}}
	if !reflect.DeepEqual(forDocker, want) {
		t.Errorf("manifest.json is %+v, want %+v", forDocker, want)
	}
	if !reflect.DeepEqual(config.Config, wantConfig) {
		t.Errorf("the configuration is\n%v, want\n%v", config.Config, wantConfig)
	}
}

// TestModules finds every module of every program in the program's list of modules, with its
// licence in each archive.
func TestModules(t *testing.T) {
	newest(t)
	for _, p := range programs {
		var list cyclonedx.BOM
		decoder := cyclonedx.NewBOMDecoder(bytes.NewReader(read(t, find(t, p.name+"-*.cdx.json")[0])), cyclonedx.BOMFileFormatJSON)
		must.NoError(t, decoder.Decode(&list))
		listed := map[string]bool{}
		for _, c := range *list.Components {
			listed[c.PackageURL] = true
		}
		dir := t.TempDir()
		for _, archive := range slices.Concat(find(t, p.name+"-*.tar.gz"), find(t, p.name+"-*.zip")) {
			unpack(t, archive, dir)
			goos := strings.Split(filepath.Base(archive), "-")[2]
			folder := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), ".zip")
			info, err := buildinfo.ReadFile(filepath.Join(dir, folder, p.fileName(goos)))
			must.NoError(t, err)
			licenses := string(read(t, filepath.Join(dir, folder, "LICENSES-OF-MODULES")))
			for _, m := range info.Deps {
				if want := "pkg:golang/" + m.Path + "@" + m.Version; !listed[want] {
					t.Errorf("the list of %s lacks %s", p.name, want)
				}
				if !strings.Contains("\n"+licenses, "\n== "+m.Path+" "+m.Version+": ") {
					t.Errorf("LICENSES-OF-MODULES of %s lacks %s %s", folder, m.Path, m.Version)
				}
			}
		}
		all := strings.Join(slices.Collect(maps.Keys(listed)), " ")
		if !strings.Contains(all, "pkg:golang/std@1.") {
			t.Errorf("the list of %s lacks the standard library", p.name)
		}
		if strings.Contains(all, "pkg:npm/swagger-ui-dist@") != (p.name == "plantstore") {
			t.Errorf("whether the list of %s has Swagger UI", p.name)
		}
	}
}
