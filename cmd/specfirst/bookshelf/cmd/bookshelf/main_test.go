package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

// The program is ready once it has logged its URL, and stops without an error.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	environment := map[string]string{
		"BOOKSHELF_ADDR":  "127.0.0.1:0",
		"BOOKSHELF_STORE": filepath.Join(t.TempDir(), "store.db"),
		"BOOKSHELF_TOKEN": "a-secret-of-tests",
	}
	lines, log := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, func(name string) string { return environment[name] }, slog.New(slog.NewJSONHandler(log, nil)))
		log.Close()
	}()
	var first struct{ URL string }
	if err := json.NewDecoder(lines).Decode(&first); err != nil || first.URL == "" {
		t.Fatalf("the log begins with %v, %v: %v", first, err, <-ended)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	response, err := http.Get(first.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Errorf("/healthz responds with %s", response.Status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run returns %v", err)
	}
}
