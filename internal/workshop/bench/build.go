package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// sources says how to build the program of each peer.
var sources = map[string]source{
	floor:      {".", "./peers/floor", "off"},
	strict:     {".", "./peers/strict", "off"},
	stock:      {".", "./peers/stock", "off"},
	ogen:       {".", "./peers/ogen", "off"},
	ours:       {".", "./peers/ours", "../../../cmd/plantstore/release.pgo"},
	durable:    {"../../..", "./cmd/plantstore", "cmd/plantstore/release.pgo"},
	plain:      {".", "./peers/plain", "off"},
	pocketbase: {"peers/pocketbase", ".", "off"}, // a module of its own, with the SQLite version that PocketBase is tested with
}

// source is the package of a program.
type source struct {
	folder  string // relative to internal/workshop/bench; its go.mod pins the versions
	pkg     string
	profile string // for -pgo: ours have that of make build
}

// build builds every peer into a folder and returns their programs.
func build(ctx context.Context, folder string) (map[string]string, error) {
	if _, err := os.Stat("load.lua"); err != nil {
		return nil, fmt.Errorf("run this in internal/workshop/bench, as make bench-http does: %w", err)
	}
	programs := map[string]string{}
	for name := range sources {
		programs[name] = filepath.Join(folder, "program-"+name)
		if err := buildOne(ctx, name, programs[name]); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// buildOne builds a peer, with -trimpath so that a profile has no paths of this machine.
func buildOne(ctx context.Context, name, program string) error {
	progress("building %s", name)
	source := sources[name]
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-pgo="+source.profile, "-o", program, source.pkg)
	cmd.Dir = source.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}
