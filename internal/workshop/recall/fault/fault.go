// Package fault names what is wrong with a server that was made wrong on purpose.
package fault

import (
	"flag"
	"fmt"
	"log"
	"net/http"
)

// Fault is one way in which a server breaks its document, or HTTP.
type Fault struct {
	Group  string
	Name   string
	Breaks string // what the document or HTTP says, and what the server does instead
}

// New describes a fault in one line of a table.
func New(group, name, breaks string) Fault { return Fault{Group: group, Name: name, Breaks: breaks} }

// The groups of faults.
const (
	Nested      = "nested resources"
	Credentials = "credentials"
	Paging      = "paging and filters"
	Conditional = "conditional requests"
	State       = "state and concurrency"
)

// Serve serves until it is killed: -port is required, -fault has the name of a fault, and -list prints
// the faults instead.
func Serve(faults []Fault, handler func(has func(name string) bool) http.Handler) {
	port := flag.Int("port", 0, "of 127.0.0.1")
	name := flag.String("fault", "", "what is wrong with the server; nothing if it is empty")
	list := flag.Bool("list", false, "print the faults")
	flag.Parse()
	if *list {
		for _, one := range faults {
			fmt.Printf("%s\t%s\t%s\n", one.Group, one.Name, one.Breaks)
		}
		return
	}
	if !known(faults, *name) {
		log.Fatalf("no fault is called %q; -list prints them", *name)
	}
	log.Fatal(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), handler(Only(*name))))
}

// Only is what a server with one fault has. Nothing is wrong with a server where the name is empty.
func Only(name string) (has func(asked string) bool) {
	return func(asked string) bool { return asked != "" && asked == name }
}

func known(faults []Fault, name string) bool {
	for _, one := range faults {
		if one.Name == name {
			return true
		}
	}
	return name == ""
}
