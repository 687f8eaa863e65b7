//go:build linux

// Recordfs shows a folder at another place, records what programs do with its files there, and lets
// calls fail as those of a bad disk do. It needs Linux, /dev/fuse and root:
//
//	recordfs FOLDER PLACE RECORD
//
// It prints the line "mounted" when the folder is there, and ends when its standard input ends.
// RECORD gets a line of JSON for each event; the package powercut explains them. Other programs may
// append lines of their own.
//
// Each line of the standard input is a command, which is answered with a line:
//
//	fail CALL NUMBER ERROR TIMES    "failing"
//	heal                            "healed N": no call fails any more; N calls have failed since "fail"
//
// CALL is read, or the kind of an event: write, truncate, sync, create, link, rename, remove or
// folder (a sync of the folder). NUMBER counts the calls of this kind from now on: 1 is the next
// one. ERROR is EIO or ENOSPC. TIMES is how many calls fail from that one on, or "all" until "heal".
// A call that fails changes nothing. The index of the log (-shm), which SQLite maps into memory,
// never fails: an error there would end the program with SIGBUS.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "recordfs:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: recordfs FOLDER PLACE RECORD")
	}
	file, err := os.OpenFile(args[2], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	r := &recorder{file: file, numbers: map[fs.StableAttr]int{}, disk: &disk{}}
	root := &node{&fs.LoopbackNode{RootData: &fs.LoopbackRoot{Path: args[0]}}, r}
	server, err := fs.Mount(args[1], root, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "recordfs", MaxWrite: 1 << 20},
	})
	if err != nil {
		return err
	}
	fmt.Println("mounted")
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		fmt.Println(r.disk.obey(commands.Text()))
	}
	if err := server.Unmount(); err != nil { // a program still uses it
		return errors.Join(r.err, err, syscall.Unmount(args[1], syscall.MNT_DETACH))
	}
	return r.err
}

// event is an event of package powercut.
type event struct {
	Kind     string
	File     int
	Name, To string
	At       int64
	Data     []byte
}

// recorder writes events. It lets one call at a time change the files, so that their order is
// that of the record.
type recorder struct {
	mu      sync.Mutex
	file    *os.File
	last    int
	numbers map[fs.StableAttr]int
	disk    *disk
	err     error
}

func (r *recorder) add(e event) {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	r.err = errors.Join(r.err, err)
}

// number returns the number of a file. A new one needs a new number: the file system may give
// it the inode of a file that was removed.
func (r *recorder) number(inode *fs.Inode, isNew bool) int {
	attr := inode.StableAttr()
	if r.numbers[attr] == 0 || isNew {
		r.last++
		r.numbers[attr] = r.last
	}
	return r.numbers[attr]
}

// disk says which calls fail. Its zero value fails none.
type disk struct {
	mu     sync.Mutex
	call   string // the kind of calls that fail
	errno  syscall.Errno
	left   int // calls before the first one that fails
	times  int // calls that fail
	failed int
}

// obey executes a command, and returns the answer.
func (d *disk) obey(command string) (answer string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if command == "heal" {
		answer = fmt.Sprint("healed ", d.failed)
		d.call, d.failed = "", 0
		return answer
	}
	var call, name, times string
	var number int
	if _, err := fmt.Sscanf(command, "fail %s %d %s %s", &call, &number, &name, &times); err != nil {
		return fmt.Sprintf("unknown command %q: %v", command, err)
	}
	d.errno = syscall.EIO
	if name == "ENOSPC" {
		d.errno = syscall.ENOSPC
	}
	d.times = math.MaxInt
	if times != "all" {
		if _, err := fmt.Sscan(times, &d.times); err != nil {
			return fmt.Sprintf("TIMES is %q, want a number or all", times)
		}
	}
	d.call, d.left, d.failed = call, number-1, 0
	return "failing"
}

// do counts a call, and returns its error if it fails.
func (d *disk) do(call, name string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if call != d.call || strings.HasSuffix(name, "-shm") {
		return fs.OK
	}
	if d.left > 0 {
		d.left--
		return fs.OK
	}
	if d.failed >= d.times {
		return fs.OK
	}
	d.failed++
	return d.errno
}

// node is a file or the folder. Folders in it are not supported.
type node struct {
	*fs.LoopbackNode
	r *recorder
}

func (n *node) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{child.(*fs.LoopbackNode), n.r}
}

func (n *node) child(name string) *fs.Inode {
	if child := n.GetChild(name); child != nil {
		return child
	}
	child, _ := n.Lookup(context.Background(), name, new(fuse.EntryOut))
	return child
}

func (n *node) Mkdir(context.Context, string, uint32, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.ENOTSUP
}

func (n *node) Symlink(context.Context, string, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.ENOTSUP
}

func (n *node) Create(
	ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut,
) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	var before fuse.EntryOut
	_, missing := n.Lookup(ctx, name, &before)
	call := "truncate"
	if missing == syscall.ENOENT {
		call = "create"
	}
	if errno := n.r.disk.do(call, name); errno != fs.OK {
		return nil, nil, 0, errno
	}
	inode, handle, fuseFlags, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if errno != fs.OK {
		return inode, handle, fuseFlags, errno
	}
	number := n.r.number(inode, missing == syscall.ENOENT)
	if missing == syscall.ENOENT {
		n.r.add(event{Kind: "create", File: number, Name: name})
	} else if flags&syscall.O_TRUNC != 0 {
		n.r.add(event{Kind: "truncate", File: number})
	}
	opened := &file{handle.(*fs.LoopbackFile), n.r, number, name}
	return inode, opened, fuseFlags | opened.flags(), errno
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	name := n.Path(n.Root())
	if flags&syscall.O_TRUNC != 0 {
		if errno := n.r.disk.do("truncate", name); errno != fs.OK {
			return nil, 0, errno
		}
	}
	handle, fuseFlags, errno := n.LoopbackNode.Open(ctx, flags)
	if errno != fs.OK {
		return handle, fuseFlags, errno
	}
	number := n.r.number(n.EmbeddedInode(), false)
	if flags&syscall.O_TRUNC != 0 {
		n.r.add(event{Kind: "truncate", File: number})
	}
	opened := &file{handle.(*fs.LoopbackFile), n.r, number, name}
	return opened, fuseFlags | opened.flags(), errno
}

func (n *node) Setattr(ctx context.Context, handle fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	if size, ok := in.GetSize(); ok {
		if errno := n.r.disk.do("truncate", n.Path(n.Root())); errno != fs.OK {
			return errno
		}
		n.r.add(event{Kind: "truncate", File: n.r.number(n.EmbeddedInode(), false), At: int64(size)})
	}
	return n.LoopbackNode.Setattr(ctx, handle, in, out)
}

func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	return n.change(event{Kind: "remove", Name: name}, n.child(name), func() syscall.Errno {
		return n.LoopbackNode.Unlink(ctx, name)
	})
}

func (n *node) Rename(
	ctx context.Context, name string, parent fs.InodeEmbedder, to string, flags uint32,
) syscall.Errno {
	return n.change(event{Kind: "rename", Name: name, To: to}, n.child(name), func() syscall.Errno {
		return n.LoopbackNode.Rename(ctx, name, parent, to, flags)
	})
}

func (n *node) Link(
	ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut,
) (inode *fs.Inode, errno syscall.Errno) {
	errno = n.change(event{Kind: "link", To: name}, target.EmbeddedInode(), func() syscall.Errno {
		inode, errno = n.LoopbackNode.Link(ctx, target, name, out)
		return errno
	})
	return inode, errno
}

// change changes the folder, and records it.
func (n *node) change(e event, of *fs.Inode, change func() syscall.Errno) syscall.Errno {
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	if errno := n.r.disk.do(e.Kind, e.Name); errno != fs.OK {
		return errno
	}
	errno := change()
	if errno == fs.OK && of != nil {
		e.File = n.r.number(of, false)
		n.r.add(e)
	}
	return errno
}

// OpendirHandle opens the folder.
func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	handle, fuseFlags, errno := n.LoopbackNode.OpendirHandle(ctx, flags)
	if errno != fs.OK {
		return handle, fuseFlags, errno
	}
	return &folder{handle.(folderHandle), n.r}, fuseFlags, errno
}

type folderHandle interface {
	fs.FileReaddirenter
	fs.FileFsyncdirer
	fs.FileSeekdirer
	fs.FileReleasedirer
}

type folder struct {
	folderHandle
	r *recorder
}

func (f *folder) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	if errno := f.r.disk.do("folder", ""); errno != fs.OK {
		return errno
	}
	errno := f.folderHandle.Fsyncdir(ctx, flags)
	if errno == fs.OK {
		f.r.add(event{Kind: "folder"})
	}
	return errno
}

// file is an open file.
type file struct {
	*fs.LoopbackFile
	r      *recorder
	number int
	name   string // when it was opened
}

// flags lets each read of a program reach Read, and not the cache of the kernel. The index of the
// log is mapped into memory, which needs the cache.
func (f *file) flags() uint32 {
	if strings.HasSuffix(f.name, "-shm") {
		return 0
	}
	return fuse.FOPEN_DIRECT_IO
}

// PassthroughFd keeps the kernel from writing to the file on its own.
func (f *file) PassthroughFd() (int, bool) { return 0, false }

func (f *file) Allocate(context.Context, uint64, uint64, uint32) syscall.Errno {
	return syscall.ENOTSUP
}

func (f *file) Read(ctx context.Context, into []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	if errno := f.r.disk.do("read", f.name); errno != fs.OK {
		return nil, errno
	}
	result, errno := f.LoopbackFile.Read(ctx, into, at)
	if errno != fs.OK {
		return nil, errno
	}
	data, status := result.Bytes(into) // now, and not when the kernel takes it: it logs pipes that are too small
	return fuse.ReadResultData(data), syscall.Errno(status)
}

func (f *file) Write(ctx context.Context, data []byte, at int64) (uint32, syscall.Errno) {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	if errno := f.r.disk.do("write", f.name); errno != fs.OK {
		return 0, errno
	}
	f.r.add(event{Kind: "write", File: f.number, At: at, Data: data})
	return f.LoopbackFile.Write(ctx, data, at)
}

func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	if errno := f.r.disk.do("sync", f.name); errno != fs.OK {
		return errno
	}
	errno := f.LoopbackFile.Fsync(ctx, flags)
	if errno == fs.OK {
		f.r.add(event{Kind: "sync", File: f.number})
	}
	return errno
}
