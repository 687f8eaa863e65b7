//go:build generate

// Package tools generates gen/ with `go generate`. go.mod pins the version of the
// generator; each file of api/ that is named below configures one package.
package tools

//go:generate go tool oapi-codegen -config api/models.cfg.yaml api/openapi.yaml
//go:generate go tool oapi-codegen -config api/server.cfg.yaml api/openapi.yaml
//go:generate go tool oapi-codegen -config api/client.cfg.yaml api/openapi.yaml
