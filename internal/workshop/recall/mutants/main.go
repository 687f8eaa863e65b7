// Command mutants serves small services that are not ours, each with one change that a mutation tool has made.
//
//	mutants -service NAME -list               prints the mutants
//	mutants -service NAME -port N -fault ID   serves one; without -fault the service as it is
//	mutants -service NAME -build              builds all of them, and writes the document, beside this program
//	mutants -choose                           draws mutants again, and prints a list without verdicts
//
// The services and the tool, gremlins, are pinned in services/go.mod, and fetched as Go modules. Nothing of them is in
// this repository but mutants.tsv: a position, an operator, what it changes, and a verdict. A mutant is built with
// an overlay, so that nothing is copied. The program runs in internal/workshop.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutants: ")
	name := flag.String("service", "", "name of a service")
	list := flag.Bool("list", false, "print the mutants that are kept")
	port := flag.Int("port", 0, "of 127.0.0.1")
	id := flag.String("fault", "", "name of a mutant; the service as it is if it is empty")
	mustBuild := flag.Bool("build", false, "build the service and its mutants that are kept, beside this program")
	all := flag.Bool("all", false, "with -build: also what is not kept")
	mustChoose := flag.Bool("choose", false, "draw mutants, and print them")
	flag.Parse()
	if err := run(*name, *list, *port, *id, *mustBuild, *all, *mustChoose); err != nil {
		log.Fatal(err)
	}
}

func run(name string, list bool, port int, id string, mustBuild, all, mustChoose bool) error {
	if mustChoose {
		return choose(os.Stdout)
	}
	mutants, err := readMutants()
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	folder := filepath.Dir(program)
	served, err := find(name)
	if err != nil {
		return err
	}
	mutants = slices.DeleteFunc(mutants, func(one mutant) bool { return one.service != name })
	if mustBuild {
		return build(folder, served, mutants, all)
	}
	if list {
		for _, one := range mutants {
			if one.isKept() {
				fmt.Printf("%s\t%s\t%s\n", served.group, one.id, one.note)
			}
		}
		return nil
	}
	for _, one := range mutants {
		if one.id == id {
			return serve(served, folder, one, port)
		}
	}
	if id != "" {
		return fmt.Errorf("no mutant is called %q", id)
	}
	return serve(served, folder, mutant{}, port)
}

// serve becomes the service, so that a signal that ends this program ends the service.
func serve(served service, folder string, with mutant, port int) error {
	left := filepath.Join(folder, "left") // what a service leaves there is removed by recall
	if err := errors.Join(os.MkdirAll(left, 0o755), os.Setenv("TMPDIR", left)); err != nil {
		return err
	}
	binary := filepath.Join(folder, with.binary(served))
	arguments := append([]string{binary}, served.arguments("127.0.0.1", strconv.Itoa(port))...)
	return syscall.Exec(binary, arguments, os.Environ())
}
