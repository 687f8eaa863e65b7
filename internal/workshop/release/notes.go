package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// writeNotes writes the release notes: the section of api/CHANGELOG.md about the
// version, and the commits since the version before. The first version has no list.
func writeNotes(version string) error {
	text, err := os.ReadFile(top + "/api/CHANGELOG.md")
	if err != nil {
		return err
	}
	_, section, ok := strings.Cut(string(text), "\n## "+version+"\n")
	if !ok {
		return fmt.Errorf("api/CHANGELOG.md has no section %s: write what changes for people", version)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	notes := "# Plant Store " + version + "\n\n" + strings.TrimSpace(section) + "\n"
	if last, err := git("describe", "--tags", "--abbrev=0", "--exclude="+version); err == nil {
		commits, err := git("log", "--reverse", "--format=- %s", last+"..HEAD")
		if err != nil {
			return err
		}
		notes += "\n## Commits since " + last + "\n\n" + commits + "\n"
	}
	return write("NOTES.md", []byte(notes))
}

func git(args ...string) (string, error) {
	output, err := exec.Command("git", args...).Output()
	return strings.TrimSpace(string(output)), err
}
