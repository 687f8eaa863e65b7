// Package wal reads the write-ahead log of SQLite, without SQLite: a header, and a frame for each page
// that a transaction has written; see https://sqlite.org/walformat.html. Of the index of the log, the -shm
// file, it reads the beginning.
//
// SQLite applies any log to the database beside it, up to the first frame that is damaged. So a
// database that was replaced by an older one would be mixed with a newer log, and a flipped bit in the
// log would lose every later commit, both without an error. [Read] tells what SQLite would use of a
// log, what it would lose, and by the marks to which database the log belongs.
package wal

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
)

// Salts are random numbers, new in each log. Each frame of a log has them.
type Salts [8]byte

// Header is the beginning of the log.
type Header [32]byte

// Salts returns those of the log.
func (header *Header) Salts() Salts { return Salts(header[16:24]) }

// PageSize returns the size of a page, or 0 if SQLite ignores the log because its header is
// damaged.
func (header *Header) PageSize() int64 {
	if header.checksum(0, header[:24]) != binary.BigEndian.Uint64(header[24:]) {
		return 0
	}
	return int64(binary.BigEndian.Uint32(header[8:]))
}

// checksum returns a checksum of the log after more data. The log that SQLite writes on the processors of today is in
// little-endian order.
func (header *Header) checksum(sum uint64, data []byte) uint64 {
	isBigEndian := header[3]&1 == 1 // of the magic number
	first, second := uint32(sum>>32), uint32(sum)
	for len(data) >= 8 {
		if !isBigEndian && len(data) >= 32 { // most bytes: four steps at once take 0.6 of the time
			block := (*[32]byte)(data)
			first, second = step(first, second, binary.LittleEndian.Uint64(block[:]))
			first, second = step(first, second, binary.LittleEndian.Uint64(block[8:]))
			first, second = step(first, second, binary.LittleEndian.Uint64(block[16:]))
			first, second = step(first, second, binary.LittleEndian.Uint64(block[24:]))
			data = data[32:]
			continue
		}
		both := binary.LittleEndian.Uint64(data)
		if isBigEndian {
			both = uint64(bits.ReverseBytes32(uint32(both>>32)))<<32 | uint64(bits.ReverseBytes32(uint32(both)))
		}
		first, second = step(first, second, both)
		data = data[8:]
	}
	return uint64(first)<<32 | uint64(second)
}

// step adds two numbers of 32 bits, the first one in the lower half. The new sum waits for one addition only.
func step(first, second uint32, both uint64) (uint32, uint32) {
	first = (first + uint32(both)) + second
	second = (second + uint32(both>>32)) + first
	return first, second
}

// Index is the beginning of the index of a log, the -shm file: its header twice, and how much of the log the
// database has. SQLite writes it after the frames.
type Index [100]byte

// indexHeader is the length of the header.
const indexHeader = 48

// IsWhole reports whether the header says what the log has. It does not while a program writes it, and if one was
// killed meanwhile or has destroyed it: SQLite then builds the index anew before it uses the log.
func (index *Index) IsWhole() bool {
	isBuilt := index[12] != 0
	return isBuilt && index.header() == [indexHeader]byte(index[indexHeader:])
}

func (index *Index) header() [indexHeader]byte { return [indexHeader]byte(index[:]) }

// IsOlder reports whether an index is one that the log had before, or is of an earlier log, although there may
// have been a transaction since. SQLite has written over the frames behind it then. It is false if SQLite has built
// the index anew: then it has the same log, and counts its transactions anew.
func (index *Index) IsOlder(before *Index) bool {
	isCounted := before.Changes() > 0
	isOther := index.Changes() == before.Changes() && index.header() != before.header()
	if index.Salts() == before.Salts() {
		return index.Frames() < before.Frames() || isCounted && isOther
	}
	isEmpty := index.Frames() == 0 // a checkpoint has emptied it, which is no transaction
	return isCounted && (index.Changes() < before.Changes() || isOther && !isEmpty)
}

// Changes returns a number that each transaction raises by 1. It begins with 0 when SQLite builds the index anew.
func (index *Index) Changes() uint32 { return binary.NativeEndian.Uint32(index[8:]) }

// Frames returns how many frames the log has.
func (index *Index) Frames() int64 { return int64(binary.NativeEndian.Uint32(index[16:])) }

// Salts returns those of the log.
func (index *Index) Salts() Salts { return Salts(index[32:40]) }

// HasLastFrame reports whether the last frame that the index knows is in a log.
func (index *Index) HasLastFrame(log io.ReaderAt, pageSize int64) (bool, error) {
	if index.Frames() == 0 {
		return true, nil
	}
	last := make(frame, frameHeader)
	_, err := log.ReadAt(last, FrameStart(index.Frames(), pageSize))
	if err == io.EOF { // the log is cut short
		return false, nil
	}
	first, second := binary.NativeEndian.Uint32(index[24:]), binary.NativeEndian.Uint32(index[28:])
	return last.checksum() == uint64(first)<<32|uint64(second), err
}

// Copied returns how many frames of the log the database has.
func (index *Index) Copied() int64 { return int64(binary.NativeEndian.Uint32(index[2*indexHeader:])) }

// frame is a frame of the log: a header of 24 bytes, and a page.
type frame []byte

const frameHeader = 24

// FrameStart returns where a frame begins in the file. The first one has the number 1.
func FrameStart(number, pageSize int64) int64 {
	return int64(len(Header{})) + (number-1)*(frameHeader+pageSize)
}

func (f frame) page() []byte     { return f[frameHeader:] }
func (f frame) number() int64    { return int64(binary.BigEndian.Uint32(f)) }
func (f frame) commits() bool    { return f.databasePages() != 0 }
func (f frame) salts() Salts     { return Salts(f[8:16]) }
func (f frame) checksum() uint64 { return binary.BigEndian.Uint64(f[16:]) }

// databasePages is how long the database is after a transaction; 0 unless the frame is its last.
func (f frame) databasePages() int64 { return int64(binary.BigEndian.Uint32(f[4:])) }

// isOf reports whether a frame is of the log with these salts. One half is enough, because
// the other one may be damaged. Both are new in each log.
func (f frame) isOf(salts Salts) bool {
	return bytes.Equal(f[8:12], salts[:4]) || bytes.Equal(f[12:16], salts[4:])
}
