// Package buildinfo says which version of a program this is.
package buildinfo

import (
	"cmp"
	"runtime/debug"
)

// Version returns the version of this program and the commit that it was built from. The linker sets the version of
// a release; with go install the build information has it, and no commit. A + after the commit means that files were
// changed.
func Version(linked string) (version, commit string) {
	version, commit = linked, "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(version, info.Main.Version)
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				commit = setting.Value
			case setting.Key == "vcs.modified" && setting.Value == "true": // it comes after the revision
				commit += "+"
			}
		}
	}
	if version == "" || version == "(devel)" {
		version = "devel"
	}
	return version, commit
}
