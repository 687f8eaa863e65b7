package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/plantstore/plantstore/api/contracttest"
)

const (
	// progressEvery is how often the line is written.
	progressEvery = 200 * time.Millisecond
	// clearLine goes to the beginning of a line of a terminal and clears it.
	clearLine = "\r\x1b[K"
)

// showProgress writes a line to a terminal, again and again, until hide is called.
func showProgress(terminal io.Writer, progress func() contracttest.Progress) (hide func()) {
	begun := time.Now()
	stop := make(chan struct{})
	hidden := make(chan struct{})
	go func() {
		defer close(hidden)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			fmt.Fprint(terminal, clearLine, progressLine(progress(), time.Since(begun)))
			select {
			case <-ticker.C:
			case <-stop:
				fmt.Fprint(terminal, clearLine)
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-hidden
	}
}

// progressLine says how far a run has come.
func progressLine(p contracttest.Progress, since time.Duration) string {
	return fmt.Sprintf("operations: %d, requests: %d, causes: %d, %v", p.Operations, p.Requests, p.Causes, since.Round(time.Second))
}

// isTerminal reports whether a file is a device that shows characters.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
