// Package api has the document of the service: openapi.yaml is the only place where a rule about
// requests or responses is stated. gen/ is generated from it.
package api

import _ "embed"

// Document is openapi.yaml of this folder.
//
//go:embed openapi.yaml
var Document []byte
