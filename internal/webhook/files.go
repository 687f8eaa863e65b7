package webhook

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/atomicfile"
)

// State is a file that keeps the position of a relay. No other process has it open.
type State struct {
	name             string
	lock             *atomicfile.File
	server, receiver string
	saved            stateContent
}

type stateContent struct {
	Server   string          `json:"server"`
	To       string          `json:"to"`
	Position client.Position `json:"position"`
}

// OpenState opens the file for what a server sends to a receiver. It creates none.
func OpenState(name, server, receiver string) (*State, error) {
	lock, err := atomicfile.CreateLocked(name, ".lock", 0o600) // another file than that of the position, which is replaced
	if err != nil {
		return nil, fmt.Errorf("another plantstore webhook may use %s, or its folder is not writable: %w", name, err)
	}
	return &State{name: name, lock: lock, server: server, receiver: receiver}, nil
}

// maxState is how much is read of the file: a wrong name, such as /dev/zero, must not fill the memory.
const maxState = 64 << 10

// Load returns the position in the file, or [fs.ErrNotExist].
func (s *State) Load() (client.Position, error) {
	file, err := os.Open(s.name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxState))
	if err != nil {
		return "", err
	}
	err = json.Unmarshal(text, &s.saved)
	if err != nil || s.saved != s.at(s.saved.Position) {
		return "", fmt.Errorf("%s is not the file of this --server and --to: name another file", s.name)
	}
	return s.saved.Position, nil
}

// Save stores a position, durably.
func (s *State) Save(position client.Position) error {
	content := s.at(position)
	if content == s.saved {
		return nil
	}
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.name, text, 0o600); err != nil {
		return err
	}
	s.saved = content
	return nil
}

func (s *State) at(position client.Position) stateContent {
	return stateContent{Server: s.server, To: s.receiver, Position: position}
}

// Close lets other processes open the file.
func (s *State) Close() error { return s.lock.Close() }

// Rejects is a file of events that the receiver has refused, one a line.
type Rejects struct{ *os.File }

// OpenRejects opens the file, or creates it.
func OpenRejects(name string) (Rejects, error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	return Rejects{file}, err
}

// Append appends an event and the status that refused it, durably.
func (r Rejects) Append(event Event, status int) error {
	line := fmt.Sprintf(`{"webhook_id":%q,"status":%d,"event":%s}`+"\n", event.ID, status, event.Body)
	isCut, err := r.endsWithinLine()
	if err != nil {
		return err
	}
	if isCut { // the part stays on a line of its own
		line = "\n" + line
	}
	if _, err := r.WriteString(line); err != nil {
		return err
	}
	if err := r.Sync(); err != nil {
		return err
	}
	return atomicfile.SyncFolder(r.Name())
}

// endsWithinLine reports whether the file ends with a part of a line, which a full disk has left.
func (r Rejects) endsWithinLine() (bool, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = r.ReadAt(last, size-1)
	return last[0] != '\n', err
}
