// Command codegen generates the code of a service from its document. make generate of the service runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/plantstore/plantstore/cmd/specfirst/internal/codegen"
	"github.com/plantstore/plantstore/cmd/specfirst/internal/document"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: codegen DOCUMENT, in the folder of the service")
		os.Exit(2)
	}
	if err := generate(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, path string) error {
	read, err := document.Read(path)
	if err != nil {
		return err
	}
	for _, warning := range read.Warnings {
		fmt.Fprintln(os.Stderr, warning)
	}
	return codegen.Generate(ctx, ".", read)
}
