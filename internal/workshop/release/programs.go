package main

import (
	"io/fs"
	"os"
)

const homepage = "https://github.com/plantstore/plantstore"

// program is a program of the release, with the files of the repository that come along.
type program struct {
	name, description string
	folder            string   // of its guide
	docs              []string // its guide, and what that speaks of
	units             []string // of systemd, in folder
	completion        []string // shells, with files in internal/cli/completion
	dockerfile        string   // of its image, if it has one
	hasUI             bool     // it contains Swagger UI
}

// programs are those of the release. Nothing but plantstore is a service.
var programs = []program{
	{
		name:        "plantstore",
		description: "HTTP service that stores plants in a SQLite file or in PostgreSQL",
		folder:      "cmd/plantstore",
		docs: append(pages("cmd/plantstore/manual/*.md"), "cmd/plantstore/README.md", "cmd/plantstore/alerts.yaml",
			"cmd/plantstore/dashboard.json", "cmd/plantstore/kubernetes.yaml", "cmd/plantstore/kubernetes-sqlite.yaml",
			"cmd/plantstore/kubernetes-webhook.yaml", "cmd/plantstore/litestream.yml", "cmd/plantstore/species.csv"),
		units: []string{
			"plantstore.service", "plantstore-backup.service", "plantstore-backup.timer", "plantstore-litestream.service",
			"plantstore-webhook.service",
		},
		completion: []string{"bash", "fish", "zsh"},
		dockerfile: "cmd/plantstore/Dockerfile",
		hasUI:      true,
	},
	{
		name:        "contracttest",
		description: "tests any HTTP service against its OpenAPI document",
		folder:      "api/contracttest",
		docs:        []string{"api/contracttest/README.md"},
		dockerfile:  "cmd/contracttest/Dockerfile",
	},
	{ // it needs Go, so it has no image
		name:        "specfirst",
		description: "starts an HTTP service in Go from an OpenAPI document",
		folder:      "cmd/specfirst",
		docs:        []string{"cmd/specfirst/README.md"},
	},
}

// pages returns the files of the repository with names of a pattern, which is well-formed.
func pages(pattern string) []string {
	names, _ := fs.Glob(os.DirFS(top), pattern)
	return names
}

// fileName is the name of the program's file.
func (p program) fileName(goos string) string {
	if goos == "windows" {
		return p.name + ".exe"
	}
	return p.name
}
