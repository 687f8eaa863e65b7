// Command foreign holds package contracttest against services that it was not made for, with
// the document alone, and Schemathesis beside it. Each cause that the package finds must be
// in known.txt, where a person has judged that it is real: a cause that is not may be a
// false alarm, and one that is no longer found is a loss. Both end the run with an error.
//
// Make foreign runs it. With -url it tests any other service, and judges nothing.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plantstore/plantstore/api/contracttest"
)

// service is one that is not ours. In its command, $PORT, $HERE, $FOLDER, which has only an
// empty folder named data, and $PETSTORE, the document of the OpenAPI examples, are replaced.
type service struct {
	name, command string
	document      string // a file, or a path of the service
	base          string // where the service has the paths of the document
	credentials   contracttest.Credentials
}

const (
	fastapi = ".venv/bin/uvicorn fastapi_service:app --port $PORT --log-level critical"
	chroma  = ".venv/bin/python chroma_service.py run --path $FOLDER/data --host 127.0.0.1 --port $PORT"
	// It asks a geocoder on the Internet where an address is, which this proxy prevents.
	loopback = "env -C $FOLDER HTTPS_PROXY=http://127.0.0.1:9 HOST=127.0.0.1 PORT=$PORT node $HERE/node_modules/@loopback/example-todo"
)

var services = []service{
	{name: "petstore", command: ".made/petstore $PETSTORE $PORT", document: "$PETSTORE"},
	{name: "fastapi", command: fastapi, document: "/openapi.json"},
	{name: "connexion", command: ".venv/bin/python connexion_service.py $PETSTORE $PORT", document: "$PETSTORE", base: "/api"},
	{name: "huma", command: ".made/huma $PORT", document: "/openapi.json"},
	{name: "prism", command: "node_modules/.bin/prism mock --port $PORT $PETSTORE", document: "$PETSTORE"},
	{name: "chroma", command: chroma, document: "/openapi.json", credentials: contracttest.Credentials{"ApiKeyAuth": "any"}},
	{name: "loopback", command: loopback, document: "/openapi.json"},
}

func main() {
	log.SetFlags(0)
	only := flag.String("only", "", "the one service to test")
	beside := flag.Bool("schemathesis", true, "run Schemathesis, too")
	url := flag.String("url", "", "a service that runs, with its base path")
	document := flag.String("document", "/openapi.json", "its document: a file, or a path of the service")
	petstore := flag.String("petstore", "", "the document of the petstore")
	folder := flag.String("reports", os.TempDir(), "the folder for reports")
	flag.Parse()
	known, err := readKnown("known.txt")
	if *url != "" {
		services, known = []service{{name: "service", document: *document}}, nil
	}
	for _, s := range services {
		if *only == "" || *only == s.name {
			s.command = strings.ReplaceAll(s.command, "$PETSTORE", *petstore)
			s.document = strings.ReplaceAll(s.document, "$PETSTORE", *petstore)
			err = errors.Join(err, run(s, *url, *folder, known, *beside))
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}

// readKnown reads the causes that are real, and whether each is found always: a line has the
// service, with ? for no, and the id.
func readKnown(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] != "#" {
			name, atTimes := strings.CutSuffix(fields[0], "?")
			known[name+" "+fields[1]] = !atTimes
		}
	}
	return known, err
}

// run starts a service, if none runs at url, and tests it.
func run(s service, url, folder string, known map[string]bool, beside bool) error {
	if url == "" {
		address, stop, err := start(s, folder)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		defer stop()
		url = "http://" + address
	}
	text, err := read(s.document, url)
	if err != nil {
		return err
	}
	fmt.Printf("\n== %s\n", s.name)
	problems := test(s, url+s.base, text, folder, known)
	if beside {
		schemathesis(s, url+s.base, text, folder)
	}
	return problems
}

func start(s service, folder string) (address string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	listener.Close()
	here, err := os.Getwd()
	if err != nil {
		return "", nil, err
	}
	own, err := os.MkdirTemp("", s.name)
	if err != nil {
		return "", nil, err
	}
	out, err := os.Create(filepath.Join(folder, s.name+".log"))
	if err = errors.Join(err, os.Mkdir(filepath.Join(own, "data"), 0o700)); err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	args := strings.Fields(strings.NewReplacer("$PORT", port, "$HERE", here, "$FOLDER", own).Replace(s.command))
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	stop = func() { cancel(); _ = cmd.Wait(); out.Close(); os.RemoveAll(own) }
	if err := cmd.Start(); err != nil {
		stop()
		return "", nil, err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return address, stop, nil
		}
	}
	stop()
	return "", nil, fmt.Errorf("does not listen: see %s", out.Name())
}

func read(document, url string) ([]byte, error) {
	if _, err := os.Stat(document); err == nil {
		return os.ReadFile(document)
	}
	resp, err := http.Get(url + document)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func test(s service, url string, document []byte, folder string, known map[string]bool) error {
	begun := time.Now()
	c, err := contracttest.New(document, contracttest.Options{Seed: 1})
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	tests := c.Tests()
	for _, t := range tests {
		t.Run(quiet(t.Name), contracttest.Target{URL: url, Credentials: s.credentials})
	}
	took := time.Since(begun)
	found, judged, other := map[string]bool{}, 0, []string{}
	for _, cause := range c.Causes() {
		found[cause.ID] = true
		mark := "  "
		if _, real := known[s.name+" "+cause.ID]; real {
			judged++
		} else if known != nil {
			mark = "? "
			other = append(other, cause.String())
		}
		fmt.Printf("%s%s %4d× %s\n", mark, cause.ID, cause.Count, cause.Cause)
	}
	for _, text := range other {
		fmt.Printf("\nnot in known.txt: a false alarm?\n%s\n", text)
	}
	var lost []string
	for entry, always := range known {
		if id, ours := strings.CutPrefix(entry, s.name+" "); ours && always && !found[id] {
			lost = append(lost, id)
		}
	}
	slices.Sort(lost)
	err = c.Report().WriteFiles(filepath.Join(folder, s.name), os.Stdout)
	fmt.Printf("contract: %d tests, %d causes (%d real, %d not judged, %d lost %v), %.1f s\n",
		len(tests), len(found), judged, len(other), len(lost), lost, took.Seconds())
	if len(lost)+len(other) > 0 {
		err = errors.Join(err, fmt.Errorf("%s: compare with known.txt", s.name))
	}
	return err
}

// quiet is a test of which only the causes are told.
type quiet string

func (quiet) Helper()               {}
func (q quiet) Name() string        { return string(q) }
func (quiet) Logf(string, ...any)   {}
func (quiet) Errorf(string, ...any) {}

var failureKind = regexp.MustCompile(`^ +❌ ST|unique failures|no issues found`)

// schemathesis prints what Schemathesis finds, which is for comparison only.
func schemathesis(s service, url string, document []byte, folder string) {
	begun := time.Now()
	path := filepath.Join(folder, s.name+".document")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		log.Print(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, _ := exec.CommandContext(ctx, ".venv/bin/schemathesis", "--no-color", "run", path, "--url", url,
		"--seed", "1", "--continue-on-failure", "--max-examples", "50").CombinedOutput()
	if err := os.WriteFile(filepath.Join(folder, s.name+".schemathesis"), out, 0o600); err != nil {
		log.Print(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if failureKind.MatchString(lines.Text()) {
			fmt.Println("Schemathesis:", strings.TrimSpace(lines.Text()))
		}
	}
	fmt.Printf("Schemathesis: %.1f s\n", time.Since(begun).Seconds())
}
