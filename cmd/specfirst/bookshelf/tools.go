//go:build generate

// Package tools is the recipe for gen/: go generate runs it. The files api/*.cfg.yaml configure
// oapi-codegen, whose version go.mod pins.
package tools

//go:generate go tool oapi-codegen -config api/server.cfg.yaml api/openapi.yaml
//go:generate go tool oapi-codegen -config api/client.cfg.yaml api/openapi.yaml
