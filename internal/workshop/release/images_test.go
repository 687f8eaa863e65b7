package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"

	"github.com/plantstore/plantstore/internal/testing/must"
)

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
