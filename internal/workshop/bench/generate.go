//go:build generate

package main

//go:generate mkdir -p gen/strict
//go:generate go tool oapi-codegen -config strictserver/config.yaml ../../../api/openapi.yaml
//go:generate go tool ogen --loglevel error --target gen/ogen --package ogen --clean ../../../api/openapi.yaml
