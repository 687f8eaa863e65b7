// Package shelf is a small service that tests of package contract serve: its document has kinds of
// parameters and bodies that the Plant Store does not need. Package stock has what oapi-codegen
// makes of it with its own templates, package checked what it makes with those of this project.
package shelf

import _ "embed"

//go:generate go tool oapi-codegen -config stock.cfg.yaml shelf.yaml
//go:generate go tool oapi-codegen -config models.cfg.yaml shelf.yaml
//go:generate go tool oapi-codegen -config json.cfg.yaml shelf.yaml
//go:generate go tool oapi-codegen -config checked.cfg.yaml shelf.yaml

// Document is the document of the service.
//
//go:embed shelf.yaml
var Document []byte

// Key is the API key that the service accepts.
const Key = "a key of the shelf"
