package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/plantstore/plantstore/internal/workshop/bench/peer"
)

// run is a peer under a load.
type run struct {
	Peer    string `json:"peer"`
	Load    string `json:"load"`
	Clients int    `json:"clients"` // connections, each with one request at a time; 0: in process
}

func (r run) String() string {
	if r.Clients == 0 {
		return fmt.Sprintf("%s, %s in process", r.Peer, r.Load)
	}
	return fmt.Sprintf("%s, %s, %d clients", r.Peer, r.Load, r.Clients)
}

// The peers. All but the last three keep the plants in the same map.
const (
	floor      = "floor"      // net/http and encoding/json by hand
	strict     = "strict"     // oapi-codegen: chi and the strict interface, no validation
	stock      = "stock"      // the same behind oapi-codegen's nethttp-middleware
	ogen       = "ogen"       // the server that ogen generates
	ours       = "ours"       // internal/httpapi
	durable    = "durable"    // plantstore serve with SQLite
	plain      = "plain"      // stock over a SQLite file, one transaction for each request
	pocketbase = "pocketbase" // PocketBase at the same durability
)

// The loads.
const (
	create = "POST /plants"
	get    = "GET /plants/{id}"
	list   = "GET /plants?limit=100"
)

// runs lists the measurements of a round. Runs that are compared are close together,
// because the conditions on the machine change with time.
var runs = []run{
	{floor, create, 0},
	{ours, create, 0},
	{stock, create, 0},
	{ogen, create, 0},
	{strict, create, 0},

	{floor, create, 64},
	{ours, create, 64},
	{stock, create, 64},
	{ogen, create, 64},
	{strict, create, 64},
	{durable, create, 64},
	{plain, create, 64},
	{pocketbase, create, 64},
	{durable, create, 1},
	{plain, create, 1},
	{ours, create, 256},
	{durable, create, 256},

	{floor, get, 64},
	{ours, get, 64},
	{floor, list, 64},
	{ours, list, 64},
}

// measure does one run with a new server.
func measure(ctx context.Context, r run, programs map[string]string, cores [2]int, folder string, s settings) (m Measurement, err error) {
	if r.Clients == 0 {
		cmd := pinned(ctx, cores[0], programs[r.Peer], "-in-process", s.duration.String())
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return m, err
		}
		var in peer.InProcess
		err = json.Unmarshal(out, &in)
		return Measurement{InProcess: in.Nanoseconds, InAllocations: in.Allocations}, err
	}
	data, err := os.MkdirTemp(folder, r.Peer+"-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(data)
	var cmd *exec.Cmd
	switch r.Peer {
	case durable:
		cmd = durableServer(ctx, cores[0], programs[r.Peer], filepath.Join(data, "plants.db"))
	case pocketbase, plain:
		cmd = pinned(ctx, cores[0], programs[r.Peer], data)
	default:
		cmd = pinned(ctx, cores[0], programs[r.Peer])
	}
	server, err := start(cmd)
	if err != nil {
		return m, err
	}
	defer server.stop()

	l := loadOf(r, server.token)
	if err := l.check(ctx, server.url); err != nil {
		return m, err
	}
	if _, err := l.apply(ctx, cores[1], server.url, s.warmUp); err != nil {
		return m, err
	}
	l.skipCreated()
	before, err := server.cost()
	if err != nil {
		return m, err
	}
	applied, err := l.apply(ctx, cores[1], server.url, s.duration)
	if err != nil {
		return m, err
	}
	after, err := server.cost()
	if err != nil {
		return m, err
	}
	used := (after.cpu - before.cpu).Seconds()
	return Measurement{
		Requests: float64(applied.requests) / applied.duration.Seconds(),
		CPU:      used / float64(applied.requests) * 100_000,
		Busy:     used / applied.duration.Seconds(),
		LoadBusy: applied.cpu.Seconds() / applied.duration.Seconds(),
		P50:      applied.p50.Seconds() * 1000,
		P99:      applied.p99.Seconds() * 1000,
		Resident: float64(after.resident) / (1 << 20),
	}, nil
}
