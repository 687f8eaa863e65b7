// Terminal writes api/terminal.svg, the picture at the top of the README: what contracttest prints of a service with a fault, and
// what specfirst and the contract test of a new service print. make pictures runs it. Each line is from a real run.
//
//	go run ./terminal ../../api/terminal.svg
package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		os.Exit(1)
	}
}

// run makes the picture in a file.
func run(picture string) error {
	folder, err := os.MkdirTemp("", "terminal-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	build := exec.Command("go", "build", "-o", folder+"/bin/", "./cmd/contracttest", "./cmd/specfirst")
	build.Dir = "../.."
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	if err := os.Setenv("PATH", folder+"/bin:"+os.Getenv("PATH")); err != nil {
		return err
	}
	tested, err := testNotes(folder)
	if err != nil {
		return err
	}
	started, err := startRooms(folder)
	if err != nil {
		return err
	}
	return os.WriteFile(picture, drawing(append(append(tested, ""), started...)), 0o644)
}

// testNotes tests the service in Python of gate, with ids that are counted anew after a deletion.
func testNotes(folder string) (lines []string, err error) {
	text, err := os.ReadFile("gate/python/service.py")
	if err != nil {
		return nil, err
	}
	service := filepath.Join(folder, "service.py")
	if err := os.WriteFile(service, bytes.ReplaceAll(text, []byte("next(ids)"), []byte("len(notes) + 1")), 0o600); err != nil {
		return nil, err
	}
	server := exec.Command("python3", service)
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	for range 100 {
		if connection, err := net.Dial("tcp", "127.0.0.1:8080"); err == nil {
			connection.Close()
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	const command = "contracttest openapi.yaml http://127.0.0.1:8080"
	printed := output("gate/python", command+" --seed 1")
	first, _, isOne := strings.Cut(printed, "\n\n")
	count := regexp.MustCompile(`(?m)^the document .*$`).FindString(printed)
	if !isOne || count == "" {
		return nil, fmt.Errorf("contracttest prints %s", printed)
	}
	return append(append([]string{"$ " + command}, strings.Split(first, "\n")...), "…", count), nil
}

// startRooms starts a service from a document, and runs its tests.
func startRooms(folder string) (lines []string, err error) {
	text, err := os.ReadFile("terminal/rooms.yaml")
	if err := errors.Join(err, os.WriteFile(filepath.Join(folder, "rooms.yaml"), text, 0o600)); err != nil {
		return nil, err
	}
	const command = "specfirst new rooms --document rooms.yaml"
	output(folder, command+" --add-errors")
	printed := output(folder, "make -C rooms --no-print-directory test")
	for line := range strings.Lines(printed) {
		if strings.Contains(line, ": contract: ") && strings.Contains(line, "is not written yet") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("make test prints %s", printed)
	}
	return append([]string{"$ " + command + " && cd rooms && make test"}, lines...), nil
}

// output returns what a command prints. It may fail: it finds faults.
func output(folder, line string) string {
	command := exec.Command("sh", "-c", line)
	command.Dir = folder
	text, _ := command.CombinedOutput()
	return strings.TrimSpace(string(text))
}

const (
	columns    = 110
	lineHeight = 20
	perLine    = 300 * time.Millisecond
)

// drawing is a picture of lines that appear one by one. Where nothing moves all of them are there.
func drawing(lines []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">
<style>
@keyframes appear { from { opacity: 0 } to { opacity: 1 } }
text { fill: #d0d7de; white-space: pre; animation: appear 1ms both }
.typed { fill: #7ee787 }
.wrong { fill: #ff7b72 }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
`, columns*9, (len(lines)+1)*lineHeight+10)
	for i, line := range lines {
		class := ""
		switch {
		case strings.HasPrefix(line, "$ "):
			class = ` class="typed"`
		case strings.HasPrefix(line, "["), strings.Contains(line, "not written"):
			class = ` class="wrong"`
		}
		if runes := []rune(line); len(runes) > columns {
			line = string(runes[:columns-1]) + "…"
		}
		fmt.Fprintf(&b, `<text x="16" y="%d"%s style="animation-delay: %dms">`, (i+1)*lineHeight+8, class, time.Duration(i)*perLine/time.Millisecond)
		_ = xml.EscapeText(&b, []byte(line)) // a buffer takes all
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
