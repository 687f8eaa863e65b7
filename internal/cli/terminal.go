package cli

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// isTerminal reports whether people read what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
