package powercut

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/expect"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// TestProgram cuts the power of the unmodified program. The file system that it writes to is
// recorded (internal/workshop/tools/recordfs), so the record also has what SQLite does with names and
// with the folder.
func TestProgram(t *testing.T) {
	n := imagesOfProgram(t)
	r := recordProgram(t)
	for shard := range uint64(2) {
		t.Run(fmt.Sprint("shard ", shard), func(t *testing.T) {
			t.Parallel()
			images, err := r.images(t, n/2, shard, r.rare())
			expect.NoError(t, err)
			t.Logf("figures: %d images of %d events of the program on a recorded file system", images, len(r))
		})
	}
	for _, f := range []struct {
		name   string
		change change
	}{
		{"the program without a sync of the log in a commit", remove("sync wal")},
		{"the program without a sync of the database in a checkpoint", remove("sync database")},
		{"the program without a sync of the folder", remove("folder ")},
		{"the program without a sync of a new file", remove("sync temporary")},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			changed, places := f.change(r)
			images, err := changed.images(t, n, 0, near(places, len(changed)))
			if err == nil {
				t.Errorf("%d images are right, want a wrong one", images)
			}
			line, _, _ := strings.Cut(fmt.Sprint(err), "\n")
			t.Logf("figures: %s | image %d: %.200s", f.name, images, line)
		})
	}
}

// imagesOfProgram returns how many images of the unmodified program are tested. It skips the test
// if that is none, or if the machine has no FUSE.
func imagesOfProgram(t *testing.T) int {
	n := must.Number(t, "PLANTSTORE_TEST_POWER_IMAGES", 0) / 4
	if n == 0 {
		t.Skip("needs a minute: .ci/drill power")
	}
	file, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil || os.Getuid() != 0 {
		t.Logf("figures: this machine tests no unmodified program: /dev/fuse: %v, user %d", err, os.Getuid())
		t.Skip("needs FUSE and root: .ci/drill power")
	}
	file.Close()
	return n
}

// recorded is a folder on a recorded file system, in which the program works.
type recorded struct {
	t      *testing.T
	path   string // of the program
	below  string // the folder that the file system shows
	folder string // where it shows it
	files  *commands

	mu     sync.Mutex
	record *os.File
	marks  []func(*known)
}

// recordProgram runs a service and the commands that write files, and returns the record.
func recordProgram(t *testing.T) record {
	p := newRecorded(t, buildProgram(t))
	p.work()
	p.files.end()
	return p.events()
}

// buildProgram builds the program and the file system, and returns their folder.
func buildProgram(t *testing.T) (folder string) {
	folder = t.TempDir()
	must.NoError(t, program.Build("../../..", "./cmd/plantstore", folder))
	must.NoError(t, program.Build("../../workshop/tools", "./recordfs", folder))
	return folder
}

// newRecorded mounts a file system.
func newRecorded(t *testing.T, bin string) *recorded {
	below, err := os.MkdirTemp(inMemory, "plantstore-recorded-")
	must.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(below) })
	p := &recorded{t: t, path: filepath.Join(bin, "plantstore"), below: below, folder: t.TempDir()}
	p.record, err = os.OpenFile(filepath.Join(t.TempDir(), "record"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	must.NoError(t, err)
	t.Cleanup(func() { p.record.Close() })
	files := exec.Command(filepath.Join(bin, "recordfs"), below, p.folder, p.record.Name()) // t.Context ends before unmount
	p.files = newCommands(t, files)
	t.Cleanup(p.files.end) // before the folder is removed
	return p
}

// commands sends commands to the file system.
type commands struct {
	t       *testing.T
	in      io.Writer
	answers <-chan string
	end     func() // unmounts
}

// newCommands starts the file system, and waits until it is mounted.
func newCommands(t *testing.T, files *exec.Cmd) *commands {
	files.Stderr = os.Stderr
	in, err := files.StdinPipe()
	must.NoError(t, err)
	out, err := files.StdoutPipe()
	must.NoError(t, err)
	must.NoError(t, files.Start())
	answers := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			answers <- lines.Text()
		}
		ended <- files.Wait()
	}()
	c := &commands{t: t, in: in, answers: answers}
	c.end = sync.OnceFunc(func() {
		in.Close()
		must.NoError(t, wait.For(t, "the end of recordfs", ended))
	})
	wait.For(t, "the mount", answers)
	return c
}

// do sends a command, and returns what its answer has after a word.
func (c *commands) do(command, word string) (rest string) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.in, command)
	must.NoError(c.t, err)
	answer := wait.For(c.t, "the answer to "+command, c.answers)
	rest, found := strings.CutPrefix(answer, word)
	if !found {
		c.t.Fatalf("recordfs answers %q to %q", answer, command)
	}
	return strings.TrimSpace(rest)
}

// serve starts a service.
func (p *recorded) serve() (*program.Server, error) {
	r, err := program.LaunchPath(p.path, p.folder, []string{"PLANTSTORE_TOKEN=" + program.Token},
		"--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--store", storeName)
	if err == nil {
		p.t.Cleanup(r.Kill)
		r.Token = program.Token
	}
	return r, err
}

// run runs a command of the program, beside a service or without one, and returns what it prints.
func (p *recorded) run(beside *program.Server, args ...string) (out string, err error) {
	cmd := program.Command(p.t, p.path, args...)
	cmd.Dir, cmd.Env = p.folder, []string{"PLANTSTORE_TOKEN=" + program.Token}
	if beside != nil {
		cmd.Env = append(cmd.Env, "PLANTSTORE_SERVER="+beside.URL)
	}
	text, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("plantstore %q: %w\n%s", args, err, text)
	}
	return string(text), err
}

// work lets clients write while the service runs, and runs the commands that write files. The first
// service is stopped, the second one is killed.
func (p *recorded) work() {
	const each = 30
	var ids sync.Map // of tokens, by their name
	for part, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		service, err := p.serve()
		must.NoError(p.t, err)
		c := service.Dial(p.t)
		var writing sync.WaitGroup
		for one := range clients {
			writing.Go(func() {
				for k := part * each; k < (part+1)*each; k++ {
					p.mark("begun", func(known *known) { known.writers[one].begun = k + 1 })
					if err := p.write(c, &ids, one, k); err != nil {
						p.t.Errorf("write %d of client %d: %v", k, one, err)
						return
					}
					p.mark("done", func(known *known) { known.writers[one].done = k + 1 })
				}
			})
		}
		writing.Wait()
		command := func(args ...string) func(string) error {
			return func(string) error { _, err := p.run(service, args...); return err }
		}
		backup := []string{"backup", "--store", storeName, "backup.db"}
		export := []string{"export", "plants.csv"}
		if part > 0 {
			backup = append(backup[:3:3], "--replace", "backup.db")
			export = []string{"export", "--replace", "plants.csv"}
		}
		restored := fmt.Sprint("restored.", part, ".db")
		makes(p.t, p.mark, p.folder, "backup.db", part > 0, command(backup...))
		makes(p.t, p.mark, p.folder, restored, false, command("restore", "--store", restored, "backup.db"))
		makes(p.t, p.mark, p.folder, "plants.csv", part > 0, command(export...))
		if signal == syscall.SIGTERM {
			service.End(p.t, signal)
		} else {
			service.Kill()
		}
	}
	p.mark("file", func(known *known) { known.copied = 0 })
	_, err := p.run(nil, "copy", "--from", storeName, "--to", copyName)
	must.NoError(p.t, err)
	plants := 0
	for one := range clients {
		for what := range after(one, 2*each) {
			if strings.HasPrefix(what, "plant ") {
				plants++
			}
		}
	}
	p.mark("file", func(known *known) { known.copied = plants })
}

var createdID = regexp.MustCompile(`: ID (\w+),`)

// write does a write of a client: of plants with requests, and of tokens with commands.
func (p *recorded) write(c *client.Client, ids *sync.Map, one, k int) (err error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), wait.Limit)
	defer cancel()
	switch w, _ := writeOf(one, k); {
	case w.create != nil:
		var plants []client.Plant
		for _, created := range w.create {
			plants = append(plants, client.Plant{ID: created.ID, Name: created.Name})
		}
		_, err = c.CreateBatch(ctx, plants)
	case w.put != nil:
		_, err = c.Put(ctx, client.Plant{ID: w.put.ID, Name: w.put.Name})
	case w.remove != nil:
		err = c.Delete(ctx, *w.remove)
	case w.token != "":
		out, err := p.run(nil, "token", "create", "--store", storeName, "--name", w.token)
		if m := createdID.FindStringSubmatch(out); err == nil && m != nil {
			ids.Store(w.token, m[1])
		}
		return err
	case w.revoke != "":
		id, _ := ids.Load(w.revoke)
		_, err = p.run(nil, "token", "revoke", "--store", storeName, fmt.Sprint(id))
	}
	return err
}

// mark is a marker: it adds a line to the record of recordfs.
func (p *recorded) mark(what string, learn func(*known)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line, err := json.Marshal(event{Kind: "mark", To: what, At: int64(len(p.marks))})
	must.NoError(p.t, err)
	p.marks = append(p.marks, learn)
	_, err = p.record.Write(append(line, '\n'))
	expect.NoError(p.t, err)
}

// events reads the record.
func (p *recorded) events() (r record) {
	_, err := p.record.Seek(0, io.SeekStart)
	must.NoError(p.t, err)
	for lines := json.NewDecoder(p.record); ; {
		var e event
		if err := lines.Decode(&e); err == io.EOF {
			return r
		} else if err != nil {
			p.t.Fatal(err)
		}
		if e.Kind == "mark" {
			e.mark = p.marks[e.At]
		}
		r = append(r, e)
	}
}
