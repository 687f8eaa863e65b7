//go:build generate

// Package workshop has the programs around the service: bench, foreign, release and compat. This file
// is the recipe of the code that bench and foreign generate, which is not in the repository.
package workshop

//go:generate mkdir -p bench/gen/strict foreign/petstore/made
//go:generate go tool oapi-codegen -config bench/strictserver/config.yaml ../../api/openapi.yaml
//go:generate go tool ogen --loglevel error --target bench/gen/ogen --package ogen --clean ../../api/openapi.yaml
//go:generate foreign/petstore/generate
