// Command codegen generates the code of a service from its document. make generate of the service runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/plantstore/plantstore/cmd/specfirst/internal/codegen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: codegen DOCUMENT, in the folder of the service")
		os.Exit(2)
	}
	if err := codegen.Generate(ctx, ".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
