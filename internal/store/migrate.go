package store

import (
	"embed"
	"io/fs"
)

// Migrations returns the statements of the files migrations/*.sql of an engine, in the
// order of their names.
func Migrations(files embed.FS) (statements []string) {
	names, _ := fs.Glob(files, "migrations/*.sql") // sorted
	for _, name := range names {
		text, _ := files.ReadFile(name) // a part of the program, so there is no error
		statements = append(statements, string(text))
	}
	return statements
}
