package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/buildinfo"
	"github.com/plantstore/plantstore/internal/server"
	"github.com/plantstore/plantstore/internal/store/sqlite"
)

// thisBuild describes this program.
func thisBuild(sys system) server.Build {
	version, commit := buildinfo.Version(sys.version)
	return server.Build{Version: version, Commit: commit, Go: runtime.Version(), SQLite: sqlite.EngineVersion}
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
