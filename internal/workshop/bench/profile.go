package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// profiled are the loads of [profile]: what most services do most of the time.
var profiled = []run{
	{durable, create, 64},
	{durable, create, 1},
	{durable, get, 64},
	{durable, list, 64},
}

// profile writes a CPU profile of the program under load, with which make build
// optimizes it: see "Profile-guided optimization" at go.dev/doc/pgo.
func profile(ctx context.Context, program, folder, file string, d time.Duration) error {
	cores, err := twoCores()
	if err != nil {
		return err
	}
	server, err := start(durableServer(ctx, cores[0], program, filepath.Join(folder, "plants.db")))
	if err != nil {
		return err
	}
	defer server.stop()

	total := time.Duration(len(profiled)) * d
	written := make(chan error, 1)
	go func() {
		written <- download(ctx, server.admin+"/debug/pprof/profile?seconds="+strconv.Itoa(int(total.Seconds())), file)
	}()
	created := int64(firstID)
	for _, r := range profiled {
		progress("%s, %s", r, d)
		l := loadOf(r, server.token)
		switch r.Load {
		case create:
			l.first, created = created, created+1_000_000_000
		default:
			l.first, l.last = firstID+1, firstID+1000 // wrk asks load.lua for a request that it does not send
		}
		if _, err := l.apply(ctx, cores[1], server.url, d); err != nil {
			return err
		}
	}
	return <-written
}

// download writes what a URL responds with to a file.
func download(ctx context.Context, url, file string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
