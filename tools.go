//go:build generate

// Package tools is the recipe for gen/: `go generate` runs it, go.mod pins the
// generator, and the three files in api/ say which face goes where.
package tools

//go:generate go tool oapi-codegen -config api/models.cfg.yaml api/openapi.yaml
//go:generate go tool oapi-codegen -config api/server.cfg.yaml api/openapi.yaml
//go:generate go tool oapi-codegen -config api/client.cfg.yaml api/openapi.yaml
