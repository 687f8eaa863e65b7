// Plantstore is an HTTP service that keeps plants. `plantstore serve` runs it;
// internal/cli has its commands.
package main

import (
	"os"

	"github.com/plantstore/plantstore/internal/cli"
)

// version is set when a release is linked: -X main.version=v1.2.3.
var version string

func main() { os.Exit(cli.Main(version)) }
