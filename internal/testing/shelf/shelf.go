// Package shelf is a small service that tests of package contract serve: its document has kinds of
// parameters and bodies that the Plant Store does not need. Package stock has what oapi-codegen
// makes of it with its own templates.
package shelf

import _ "embed"

//go:generate go tool oapi-codegen -config stock.cfg.yaml shelf.yaml

// Document is the document of the service.
//
//go:embed shelf.yaml
var Document []byte

// Key is the API key that the service accepts.
const Key = "a key of the shelf"
