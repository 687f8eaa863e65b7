package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// sources has the folder, relative to internal/bench, in which the program of each
// peer is built, and the package. The go.mod of the folder pins the versions.
var sources = map[string][2]string{
	floor:      {".", "./peers/floor"},
	strict:     {".", "./peers/strict"},
	stock:      {".", "./peers/stock"},
	ogen:       {".", "./peers/ogen"},
	ours:       {".", "./peers/ours"},
	durable:    {"../..", "./cmd/plantstore"},
	pocketbase: {"peers/pocketbase", "."}, // a module of its own, with the SQLite version that PocketBase is tested with
}

// build builds every peer into a folder and returns their programs.
func build(ctx context.Context, folder string) (map[string]string, error) {
	if _, err := os.Stat("load.lua"); err != nil {
		return nil, fmt.Errorf("run this in internal/bench, as make bench-http does: %w", err)
	}
	programs := map[string]string{}
	for name, source := range sources {
		progress("building %s", name)
		programs[name] = filepath.Join(folder, "program-"+name)
		cmd := exec.CommandContext(ctx, "go", "build", "-o", programs[name], source[1])
		cmd.Dir = source[0]
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return programs, nil
}
