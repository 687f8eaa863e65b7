package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// writeImage writes the image that the Dockerfile of the program describes as a tar file for
// docker load, podman load and ctr image import. It has the layout of OCI, and the
// manifest.json of Docker, which a Docker before version 25 reads.
//
// A library that writes images has no type of file that all of them read.
func (r *release) writeImage(arch string, binary []byte) error {
	config, user, err := configOf(filepath.Join(top, r.dockerfile))
	if err != nil {
		return err
	}
	layer := newTree(r.time)
	layer.add(r.name, 0o755, binary)
	layer.add("LICENSES-OF-MODULES", 0o644, r.licenses)
	if err := r.copy(layer, map[string]string{"LICENSE": "LICENSE"}); err != nil {
		return err
	}
	layer.add("etc/ssl/certs/ca-certificates.crt", 0o644, certificates())
	folder := strings.TrimPrefix(config["WorkingDir"].(string), "/")
	layer.add(folder, fs.ModeDir|0o755, nil)
	layer.files[folder].Sys = &tar.Header{Uid: user, Gid: user}
	data, err := layer.tar()
	if err != nil {
		return err
	}
	zipped, err := compressed(data)
	if err != nil {
		return err
	}

	image := newTree(r.time)
	blob := func(mediaType string, data []byte) map[string]any {
		sum := fmt.Sprintf("%x", sha256.Sum256(data))
		image.add("blobs/sha256/"+sum, 0o644, data)
		return map[string]any{"mediaType": mediaType, "digest": "sha256:" + sum, "size": len(data)}
	}
	file := func(blob map[string]any) string {
		return "blobs/" + strings.Replace(blob["digest"].(string), ":", "/", 1)
	}
	const oci = "application/vnd.oci.image."
	layerBlob := blob(oci+"layer.v1.tar+gzip", zipped)
	configBlob := blob(oci+"config.v1+json", asJSON(map[string]any{
		"created": r.time, "os": "linux", "architecture": arch, "config": config,
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(data))}},
		"history": []any{map[string]any{"created": r.time, "created_by": "make release"}},
	}))
	manifest := blob(oci+"manifest.v1+json", asJSON(map[string]any{
		"schemaVersion": 2, "mediaType": oci + "manifest.v1+json", "config": configBlob, "layers": []any{layerBlob},
	}))
	manifest["annotations"] = map[string]string{
		"io.containerd.image.name":          "docker.io/library/" + r.name + ":" + r.version,
		"org.opencontainers.image.ref.name": r.version,
	}
	image.add("index.json", 0o644, asJSON(map[string]any{
		"schemaVersion": 2, "mediaType": oci + "index.v1+json", "manifests": []any{manifest},
	}))
	image.add("oci-layout", 0o644, asJSON(map[string]any{"imageLayoutVersion": "1.0.0"}))
	image.add("manifest.json", 0o644, asJSON([]any{map[string]any{
		"Config": file(configBlob), "RepoTags": []string{r.name + ":" + r.version}, "Layers": []string{file(layerBlob)},
	}}))
	tarred, err := image.tar()
	if err != nil {
		return err
	}
	return write(r.name+"-"+r.version+"-linux-"+arch+".image.tar", tarred)
}

func asJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // they have only texts, numbers and times
		panic(err)
	}
	return data
}

// certificates returns the certificate authorities of Mozilla, except those that are
// trusted under conditions that this file cannot express.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return b.Bytes()
}

// configOf returns what the last stage of a Dockerfile says about a container, as the
// configuration of an image, and the number of its user.
func configOf(dockerfile string) (map[string]any, int, error) {
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		return nil, 0, err
	}
	config := map[string]any{}
	stage := string(text[bytes.LastIndex(text, []byte("\nFROM ")):])
	for line := range strings.Lines(stage) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "USER":
			config["User"] = value
		case "WORKDIR":
			config["WorkingDir"] = value
		case "VOLUME":
			config["Volumes"] = map[string]any{value: struct{}{}}
		case "EXPOSE":
			config["ExposedPorts"] = map[string]any{value + "/tcp": struct{}{}}
		case "ENV":
			config["Env"] = strings.Fields(value)
		case "ENTRYPOINT":
			config["Entrypoint"] = json.RawMessage(value)
		case "CMD":
			config["Cmd"] = json.RawMessage(value)
		case "HEALTHCHECK":
			if config["Healthcheck"], err = healthcheck(value); err != nil {
				return nil, 0, err
			}
		}
	}
	user, _, _ := strings.Cut(fmt.Sprint(config["User"]), ":")
	uid, err := strconv.Atoi(user)
	return config, uid, err
}

var option = regexp.MustCompile(`--([a-z-]+)=(\S+)`)

// healthcheck returns the configuration for --interval=10s --retries=3 CMD ["a", "b"].
func healthcheck(value string) (map[string]any, error) {
	options, command, _ := strings.Cut(value, " CMD ")
	var test []string
	if err := json.Unmarshal([]byte(command), &test); err != nil {
		return nil, err
	}
	check := map[string]any{"Test": append([]string{"CMD"}, test...)}
	for _, m := range option.FindAllStringSubmatch(options, -1) {
		if m[1] == "retries" {
			check["Retries"] = json.Number(m[2])
			continue
		}
		duration, err := time.ParseDuration(m[2])
		if err != nil {
			return nil, err
		}
		check[map[string]string{"interval": "Interval", "timeout": "Timeout", "start-period": "StartPeriod"}[m[1]]] = duration
	}
	return check, nil
}
