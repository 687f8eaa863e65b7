//go:build generate

// Package tools is the recipe for gen/: go generate runs it. The files api/*.cfg.yaml configure
// oapi-codegen, whose version go.mod pins. The command codegen looks for mistakes in the document first.
package tools

//go:generate go run github.com/plantstore/plantstore/cmd/specfirst/codegen api/openapi.yaml
