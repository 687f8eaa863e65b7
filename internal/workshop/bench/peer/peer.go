// Package peer is what the programs under peers/ have in common: the plants, the
// token, the settings of the server, and the two measurements: over loopback and
// in process.
package peer

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

// Token is the bearer token that every peer takes.
const Token = "a-token-of-the-benchmark"

// Main runs the handler that build returns for the plants of the benchmark. It
// serves on a free port and prints the URL; with -in-process it measures without a
// network and prints an [InProcess] as JSON.
func Main(build func(*Plants) (http.Handler, error)) {
	inProcess := flag.Duration("in-process", 0, "measure without a network, for `so much` CPU time")
	flag.Parse()
	handler, err := build(NewPlants())
	if err != nil {
		log.Fatal(err)
	}
	if *inProcess > 0 {
		if err := json.NewEncoder(os.Stdout).Encode(measureInProcess(handler, *inProcess)); err != nil {
			log.Fatal(err)
		}
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listens on http://%v\n", listener.Addr())
	log.Fatal(newServer(handler).Serve(listener))
}

// newServer has the limits of plantstore serve: a public server needs them, and each
// costs a little.
func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
}
