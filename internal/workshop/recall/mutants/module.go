package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const pins = "recall/mutants/services" // the module that has the versions

// moduleFolder is the folder of a module that the go command has fetched. It is read-only.
func moduleFolder(path string) (string, error) {
	if _, err := output(exec.Command("go", "-C", pins, "mod", "download", path)); err != nil {
		return "", err
	}
	return output(exec.Command("go", "-C", pins, "list", "-m", "-f", "{{.Dir}}", path))
}

// moduleCopy is a copy of a module for one run: the go command refuses overlays of the fetched files.
type moduleCopy struct {
	source  string // folder
	modFile string // has the pins, and replaces the module by the copy
}

func copyModule(path, folder string) (made moduleCopy, err error) {
	module, err := moduleFolder(path)
	if err != nil {
		return made, err
	}
	work, err := os.MkdirTemp(folder, "module")
	if err != nil {
		return made, err
	}
	made = moduleCopy{source: filepath.Join(work, "source"), modFile: filepath.Join(work, "go.mod")}
	for _, command := range [][]string{
		{"cp", "-r", module, made.source},
		{"chmod", "-R", "u+w", made.source},
		{"cp", pins + "/go.mod", pins + "/go.sum", work},
		{"go", "mod", "edit", "-replace", path + "=" + made.source, made.modFile},
	} {
		if _, err := output(exec.Command(command[0], command[1:]...)); err != nil {
			return made, err
		}
	}
	return made, nil
}

// compile builds a mutant, unless an earlier run has left it in the folder.
func (from moduleCopy) compile(one service, folder string, with mutant, overlay string) error {
	binary := filepath.Join(folder, with.binary(one))
	if _, err := os.Stat(binary); err == nil {
		return nil
	}
	file := binary + ".overlay"
	if err := os.WriteFile(file, []byte(overlay), 0o644); err != nil {
		return err
	}
	command := exec.Command("go", "-C", pins, "build", "-modfile", from.modFile, "-overlay", file, "-trimpath", "-ldflags=-s -w",
		"-o", binary, filepath.Join(one.module, one.main))
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if _, err := output(command); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(binary), err)
	}
	return nil
}

// writeDocument writes the document of a service without the operations that reach for other machines.
func writeDocument(one service, module, folder string) error {
	text, err := os.ReadFile(filepath.Join(module, one.document))
	if err != nil {
		return err
	}
	if one.without != "" {
		var document map[string]any
		if err := json.Unmarshal(text, &document); err != nil {
			return err
		}
		delete(document["paths"].(map[string]any), one.without)
		if text, err = json.Marshal(document); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, one.name+filepath.Ext(one.document)), text, 0o644)
}

// output runs a command, and returns what it prints without spaces at the end.
func output(command *exec.Cmd) (string, error) {
	var problems bytes.Buffer
	command.Stderr = &problems
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s%s", command, err, text, problems.Bytes())
	}
	return strings.TrimSpace(string(text)), nil
}
