// Package peer is what the programs under peers/ have in common: the plants, the
// token, the settings of the server, and the two ways to be measured, over
// loopback and without a network.
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

// Main runs the handler that build makes over the plants of the benchmark: on a
// free port, whose URL it prints, or, with -in-process, without a network; then
// it prints an [InProcess] as JSON.
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

// newServer has the limits of plantstore serve: a server without them is none
// that anybody may run, and each costs a little.
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
