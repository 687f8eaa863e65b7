// Package api holds the contract of the Plant Store: openapi.yaml is the only
// place where a rule about requests or responses is stated, and seed.yaml is
// the part of it that has been promised for ever. The packages under gen/ are
// generated from openapi.yaml; nothing is ever changed there by hand.
package api

import _ "embed"

// Document is openapi.yaml of this folder, comments and order
// included.
//
//go:embed openapi.yaml
var Document []byte

// Seed is the contract that every release must keep: what a client generated
// from it sends and expects works unchanged.
//
//go:embed seed.yaml
var Seed []byte
