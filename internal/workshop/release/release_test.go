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
func says(t *testing.T, program, version string) {
	t.Helper()
	commit := strings.TrimSpace(output(t, "git", "rev-parse", "HEAD"))
	want := "plantstore " + version + ", commit " + commit + ","
	if got := output(t, program, "version"); !strings.HasPrefix(got, want) {
		t.Errorf("plantstore version prints %swant %s", got, want)
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

// TestArchives looks at the files in each archive, and runs the program for this
// platform.
func TestArchives(t *testing.T) {
	version := newest(t)
	for _, archive := range slices.Concat(find(t, "*.tar.gz"), find(t, "*.zip")) {
		folder := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), ".zip")
		t.Run(folder, func(t *testing.T) {
			want := []string{
				"LICENSE", "LICENSES-OF-MODULES", "alerts.yaml", "completion/bash", "completion/fish", "completion/zsh",
				"dashboard.json", "litestream.yml", "manual/backup.md",
			}
			for _, page := range manual() {
				if page != "manual/backup.md" {
					want = append(want, page)
				}
			}
			program := "plantstore"
			switch {
			case strings.Contains(folder, "linux"):
				want = append(want, "plantstore-backup.service", "plantstore-backup.timer",
					"plantstore-litestream.service", "plantstore-webhook.service", "plantstore.service")
			case strings.Contains(folder, "windows"):
				program += ".exe"
			}
			want = append(want, program)
			slices.Sort(want)
			dir := t.TempDir()
			unpack(t, archive, dir)
			got := filesIn(t, filepath.Join(dir, folder))
			if !slices.Equal(got, want) {
				t.Errorf("the archive has the files\n%q, want\n%q", got, want)
			}
			if strings.HasSuffix(folder, runtime.GOOS+"-"+runtime.GOARCH) {
				says(t, filepath.Join(dir, folder, program), version)
			}
		})
	}
}

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

// TestPackages unpacks the packages for this machine and runs their programs. The units
// run the installed program.
func TestPackages(t *testing.T) {
	version := newest(t)
	names := map[string]string{"deb": "*_amd64.deb", "rpm": "*.x86_64.rpm"}
	if runtime.GOARCH == "arm64" {
		names = map[string]string{"deb": "*_arm64.deb", "rpm": "*.aarch64.rpm"}
	}
	for kind, unpack := range map[string]func(file, dir string) (version string){
		"deb": func(file, dir string) string {
			output(t, "dpkg-deb", "-x", file, dir)
			return strings.TrimSpace(output(t, "dpkg-deb", "-f", file, "Version"))
		},
		"rpm": func(file, dir string) string {
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
		},
	} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			if got := unpack(find(t, names[kind])[0], dir); got != strings.TrimPrefix(version, "v") {
				t.Errorf("the package has the version %s", got)
			}
			says(t, dir+"/usr/bin/plantstore", version)
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
		})
	}
}

// TestImage checks the parts of an image against each other, and its configuration
// against what cmd/plantstore/Dockerfile says. .ci/container runs it.
func TestImage(t *testing.T) {
	version := newest(t)
	dir := t.TempDir()
	output(t, "tar", "-xf", find(t, "*-linux-"+runtime.GOARCH+".image.tar")[0], "-C", dir)
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
	want := []docker{{Config: configName, RepoTags: []string{"plantstore:" + version}, Layers: []string{layerName}}}
	if !reflect.DeepEqual(forDocker, want) {
		t.Errorf("manifest.json is %+v, want %+v", forDocker, want)
	}
	second := float64(time.Second)
	wantConfig := map[string]any{
		"User": "65532:65532", "WorkingDir": "/data", "Volumes": map[string]any{"/data": map[string]any{}},
		"ExposedPorts": map[string]any{"8080/tcp": map[string]any{}},
		"Env":          []any{"PLANTSTORE_ADDR=0.0.0.0:8080", "PLANTSTORE_STORE=/data/plantstore.db"},
		"Entrypoint":   []any{"/plantstore"}, "Cmd": []any{"serve"},
		"Healthcheck": map[string]any{
			"Test": []any{"CMD", "/plantstore", "healthcheck"}, "Retries": 3.0,
			"Interval": 10 * second, "Timeout": 5 * second, "StartPeriod": 10 * second,
		},
	}
	if !reflect.DeepEqual(config.Config, wantConfig) {
		t.Errorf("the configuration is\n%v, want\n%v", config.Config, wantConfig)
	}
}

// TestModules finds every module of every program in the list of modules, with its
// licence in each archive.
func TestModules(t *testing.T) {
	newest(t)
	var list cyclonedx.BOM
	decoder := cyclonedx.NewBOMDecoder(bytes.NewReader(read(t, find(t, "*.cdx.json")[0])), cyclonedx.BOMFileFormatJSON)
	must.NoError(t, decoder.Decode(&list))
	listed := map[string]bool{}
	for _, c := range *list.Components {
		listed[c.PackageURL] = true
	}
	dir := t.TempDir()
	for _, archive := range slices.Concat(find(t, "*.tar.gz"), find(t, "*.zip")) {
		unpack(t, archive, dir)
	}
	programs, err := filepath.Glob(dir + "/*/plantstore*")
	must.NoError(t, err)
	checked := 0
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil { // a unit for systemd
			continue
		}
		checked++
		licenses := string(read(t, filepath.Dir(program)+"/LICENSES-OF-MODULES"))
		for _, m := range info.Deps {
			if want := "pkg:golang/" + m.Path + "@" + m.Version; !listed[want] {
				t.Errorf("the list lacks %s", want)
			}
			if !strings.Contains(licenses, "\n== "+m.Path+" "+m.Version+": ") && !strings.HasPrefix(licenses, "== "+m.Path+" ") {
				t.Errorf("LICENSES-OF-MODULES lacks %s %s", m.Path, m.Version)
			}
		}
	}
	if archives := len(find(t, "*.tar.gz")) + len(find(t, "*.zip")); checked != archives {
		t.Errorf("%d of %d archives have a program", checked, archives)
	}
	all := strings.Join(slices.Collect(maps.Keys(listed)), " ")
	for _, part := range []string{"pkg:golang/std@1.", "pkg:npm/swagger-ui-dist@"} {
		if !strings.Contains(all, part) {
			t.Errorf("the list lacks %s", part)
		}
	}
}
