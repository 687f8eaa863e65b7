package main

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/plantstore/plantstore/api/contract"
)

// Where the example has a line of curl that depends on the document: in the README and in the Makefile.
const (
	curlInReadme = "curl -i http://127.0.0.1:8080/healthz"
	curlInRun    = "curl -i http://127.0.0.1:8080/books -H 'Authorization: Bearer $$BOOKSHELF_TOKEN'"
)

var inBraces = regexp.MustCompile(`\{[^{}]*\}`)

// curl returns a line of curl for the plainest operation: one that reads, of a path without parameters if there is one.
func (d *ownDocument) curl(operations []*contract.Operation, token string) string {
	rank := func(operation *contract.Operation) int {
		parameters := strings.Count(operation.Path, "{")
		if operation.Method != http.MethodGet {
			parameters += 10
		}
		return parameters
	}
	plainest := slices.MinFunc(operations, func(a, b *contract.Operation) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(a.Path), len(b.Path)), cmp.Compare(a.Path+a.Method, b.Path+b.Method))
	})
	address := "http://127.0.0.1:8080" + d.basePath + inBraces.ReplaceAllString(plainest.Path, "1")
	line := "curl -i"
	if plainest.Method != http.MethodGet {
		line += " -X " + plainest.Method
	}
	credentials := ""
	if len(plainest.Security) > 0 {
		for _, scheme := range plainest.Security[0] {
			if scheme.In == "query" {
				address += "?" + scheme.Key + "=" + token
				continue
			}
			credentials += " " + credentialOf(scheme, token)
		}
	}
	return line + " '" + address + "'" + credentials
}

// credentialOf returns the flag of curl for a scheme.
func credentialOf(scheme contract.Scheme, token string) string {
	switch {
	case scheme.In == "header":
		return "-H '" + scheme.Key + ": " + token + "'"
	case scheme.In == "cookie":
		return "-b '" + scheme.Key + "=" + token + "'"
	case strings.EqualFold(scheme.Scheme, "basic"):
		return "-u 'user:" + token + "'"
	}
	return "-H 'Authorization: Bearer " + token + "'"
}
