//go:build linux

// Recordfs shows a folder at another place, and records what programs do with its files there.
// It needs Linux, /dev/fuse and root:
//
//	recordfs FOLDER PLACE RECORD
//
// It prints a line when the folder is there, and ends when its standard input ends. RECORD gets a
// line of JSON for each event; the package powercut explains them. Other programs may
// append lines of their own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
	r := &recorder{file: file, numbers: map[fs.StableAttr]int{}}
	root := &node{&fs.LoopbackNode{RootData: &fs.LoopbackRoot{Path: args[0]}}, r}
	server, err := fs.Mount(args[1], root, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "recordfs", MaxWrite: 1 << 20},
	})
	if err != nil {
		return err
	}
	fmt.Println("mounted")
	_, _ = io.Copy(io.Discard, os.Stdin)
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
	return inode, &file{handle.(*fs.LoopbackFile), n.r, number}, fuseFlags, errno
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	handle, fuseFlags, errno := n.LoopbackNode.Open(ctx, flags)
	if errno != fs.OK {
		return handle, fuseFlags, errno
	}
	number := n.r.number(n.EmbeddedInode(), false)
	if flags&syscall.O_TRUNC != 0 {
		n.r.add(event{Kind: "truncate", File: number})
	}
	return &file{handle.(*fs.LoopbackFile), n.r, number}, fuseFlags, errno
}

func (n *node) Setattr(ctx context.Context, handle fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	if size, ok := in.GetSize(); ok {
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
}

// PassthroughFd keeps the kernel from writing to the file on its own.
func (f *file) PassthroughFd() (int, bool) { return 0, false }

func (f *file) Allocate(context.Context, uint64, uint64, uint32) syscall.Errno {
	return syscall.ENOTSUP
}

func (f *file) Write(ctx context.Context, data []byte, at int64) (uint32, syscall.Errno) {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.r.add(event{Kind: "write", File: f.number, At: at, Data: data})
	return f.LoopbackFile.Write(ctx, data, at)
}

func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	errno := f.LoopbackFile.Fsync(ctx, flags)
	if errno == fs.OK {
		f.r.add(event{Kind: "sync", File: f.number})
	}
	return errno
}
