package wal

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"slices"
)

// Content is what a log has. The zero value is that of an empty log.
type Content struct {
	Header   Header
	PageSize int64

	Used    int64 // frames that SQLite uses: up to the last commit before a damaged frame
	Commits int   // that SQLite uses

	Pages         map[int64]int64 // the last used frame of each page of the database
	DatabasePages int64           // how long the database is after the last commit that SQLite uses
	FirstPage     []byte          // of the database after that commit; nil if the log does not have it

	all  int64 // frames up to the last one of this log
	lost int   // commits that SQLite does not use

	// explained is how many commits a power cut may have lost. Of the last transaction, which
	// was not acknowledged then, any page may be missing while its commit is there. SQLite
	// syncs a header before it writes a frame.
	explained int

	marks    map[Mark]bool // that the database may have
	markPage int64         // of the database

	pending []byte // the first page after the last frame, perhaps without a commit

	sums checksums // after the last commit that SQLite uses
}

// LostCommits returns how many commits SQLite would lose without a word; 0 if a power cut explains it.
func (content *Content) LostCommits() int {
	if content.lost <= content.explained {
		return 0
	}
	return content.lost
}

// End returns where a number of frames ends in the file.
func (content *Content) End(frames int64) int64 { return FrameStart(frames+1, content.PageSize) }

// Incomplete returns the size in bytes of the incomplete transaction at the end of the log.
func (content *Content) Incomplete() int64 {
	return content.End(content.all) - content.End(content.Used)
}

// IsMarked reports whether the log has a mark. One that only other programs have written has none.
func (content *Content) IsMarked() bool { return len(content.marks) > 0 }

// BelongsTo reports whether the log is of a database. That is not known of a log without a mark.
func (content *Content) BelongsTo(database io.ReaderAt) bool {
	if content.Header.PageSize() == 0 {
		return true // there is no log, it is empty, or SQLite ignores it
	}
	var header [20]byte
	if _, err := database.ReadAt(header[:], 0); err != nil {
		return true
	}
	if inWALMode := header[18] == 2; !inWALMode {
		return false // VACUUM INTO or a backup has made it, perhaps while this log was in use
	}
	if content.Used == 0 || !content.IsMarked() {
		return true
	}
	now, err := ReadMark(database, content.markPage, content.PageSize)
	return err != nil || content.marks[now]
}

// HasAllPages reports whether the log has each page of the database.
func (content *Content) HasAllPages() bool {
	if content.Used == 0 {
		return false
	}
	unused := 1<<30/content.PageSize + 1 // SQLite locks this page, and does not use it
	for page := int64(1); page <= content.DatabasePages; page++ {
		if page != unused && content.Pages[page] == 0 {
			return false
		}
	}
	return true
}

// Read reads a log to its end. The error is one of the file, which says nothing about the log.
func Read(file io.ReaderAt) (*Content, error) {
	content := &Content{marks: map[Mark]bool{}, Pages: map[int64]int64{}}
	err := readAvailable(file, content.Header[:])
	if err != nil {
		return &Content{}, err
	}
	return content, newReader(content).readAll(file)
}

// ReadAgain is Read of a log that may have grown: it reads what is behind the last commit that SQLite uses.
func (content *Content) ReadAgain(file io.ReaderAt) (*Content, error) {
	var header Header
	err := readAvailable(file, header[:])
	if err != nil {
		return &Content{}, err
	}
	if header != content.Header || content.Used == 0 {
		return Read(file)
	}
	return content, content.reader().readAll(file)
}

// readAvailable reads the beginning of a file, or less if the file is shorter.
func readAvailable(file io.ReaderAt, beginning []byte) error {
	_, err := file.ReadAt(beginning, 0)
	if err == io.EOF {
		return nil
	}
	return err
}

// reader reads the frames of a log one after the other.
type reader struct {
	content  *Content
	salts    Salts // of the log; of its first frame if the header is damaged
	sums     checksums
	lost     lostCommits
	isIntact bool  // nothing before was damaged
	number   int64 // of the frame before
}

func newReader(content *Content) *reader {
	const usualPage = 4096
	header := &content.Header
	read := &reader{content: content, sums: newChecksums(header), lost: lostCommits{pages: map[int64]bool{}}}
	content.PageSize = header.PageSize()
	if content.PageSize == 0 { // the frames tell what is lost
		content.PageSize = usualPage
		return read
	}
	content.explained = 1
	content.sums = newChecksums(header)
	return content.reader()
}

// reader returns what reads the frames behind the last commit that SQLite uses.
func (content *Content) reader() *reader {
	return &reader{
		content: content, salts: content.Header.Salts(), sums: content.sums, lost: lostCommits{pages: map[int64]bool{}},
		isIntact: true, number: content.Used,
	}
}

// readAll reads frames to the end of the file.
func (read *reader) readAll(file io.ReaderAt) error {
	behind := io.NewSectionReader(file, read.content.End(read.number), math.MaxInt64-read.content.End(read.number))
	buffered := bufio.NewReaderSize(behind, 128<<10)
	size := int(frameHeader + read.content.PageSize)
	for {
		current, err := buffered.Peek(size) // without a copy
		if err == io.EOF {
			read.content.lost = read.lost.count + read.lost.doubtful
			return nil
		}
		if err != nil {
			return err
		}
		read.number++
		read.add(current, read.number)
		_, _ = buffered.Discard(size) // cannot fail: all of it is buffered
	}
}

func (read *reader) add(current frame, number int64) {
	if read.salts == (Salts{}) {
		read.salts = current.salts()
	}
	wasWhole := read.sums.isWhole
	read.sums.add(current, read.salts)
	isWhole := read.sums.isWhole
	read.isIntact = read.isIntact && isWhole
	isEmpty := current.salts() == Salts{} // a frame that is lost: one of an earlier log has salts
	isOurs := current.isOf(read.salts)
	if isOurs || isEmpty {
		read.content.all = number
	}
	if !isOurs {
		return
	}
	if read.isIntact {
		read.content.add(current, number)
	}
	if read.content.Used == number {
		read.content.sums = read.sums
	}
	switch {
	case isWhole:
		read.lost.add(current, read.isIntact)
	case read.content.mayBeMixed(number):
		read.lost.addMixed(current, wasWhole)
	default:
		read.lost.doubtful = 0 // more is damaged, as by a power cut
		read.lost.add(current, false)
	}
}

// add adds a frame that is not damaged.
func (content *Content) add(intact frame, number int64) {
	if intact.number() == 1 {
		content.pending = slices.Clone(intact.page())
	}
	content.Pages[intact.number()] = number
	if intact.commits() {
		content.Used, content.FirstPage, content.DatabasePages = number, content.pending, intact.databasePages()
		content.Commits++
	}
	if marks, found := marksIn(intact.page()); found {
		for _, mark := range marks {
			content.marks[mark] = true
		}
		content.markPage = intact.number()
	}
}

// checksums follow from each other, frame by frame. A frame may be whole behind a damaged one: its
// checksum follows from the one that the frame before states or, if only that is damaged, has.
type checksums struct {
	header           *Header
	stated, computed uint64 // of the frame before
	isWhole          bool   // the frame before
}

func newChecksums(header *Header) checksums {
	ofHeader := binary.BigEndian.Uint64(header[24:])
	return checksums{header, ofHeader, ofHeader, true}
}

// add adds a frame of a log with these salts; one with others is not whole.
func (sums *checksums) add(current frame, salts Salts) {
	sums.isWhole = false
	if current.salts() == salts {
		computed := sums.after(sums.stated, current)
		sums.isWhole = computed == current.checksum() || sums.after(sums.computed, current) == current.checksum()
		sums.computed = computed
	}
	sums.stated = current.checksum()
}

// after returns the checksum of a frame after that of the frame before.
func (sums *checksums) after(before uint64, current frame) uint64 {
	return sums.header.checksum(sums.header.checksum(before, current[:8]), current.page())
}
