package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/server"
	"github.com/plantstore/plantstore/internal/store/sqlite"
)

// thisBuild describes this program. The linker sets the version of a release;
// with go install the build information has it.
func thisBuild(sys system) server.Build {
	b := server.Build{Version: sys.version, Commit: "unknown", Go: runtime.Version(), SQLite: sqlite.EngineVersion}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = cmp.Or(b.Version, info.Main.Version)
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				b.Commit = setting.Value
			case setting.Key == "vcs.modified" && setting.Value == "true": // it comes after the revision
				b.Commit += "+"
			}
		}
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
	}
	return b
}

func versionCommand(sys system) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version of this program",
		Description: `Prints the version, the commit, and the versions of Go and SQLite. A + after the commit means that
files were changed.

   plantstore version --json`,
		Flags: []cli.Flag{
			boolFlag("json", "print a JSON object"),
		},
		Action: func(_ context.Context, command *cli.Command) error {
			if command.Bool("json") {
				enc := json.NewEncoder(sys.stdout)
				enc.SetIndent("", "  ")
				return enc.Encode(thisBuild(sys))
			}
			build := thisBuild(sys)
			_, err := fmt.Fprintf(sys.stdout, "plantstore %s, commit %s, %s, SQLite %s\n",
				build.Version, build.Commit, build.Go, build.SQLite)
			return err
		},
	}
}
