package sqlite

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
)

// untouchedPages are pages of the database that the log does not have, so that a checkpoint does not
// write them. If another program changes the database while a checkpoint runs, its header and its mark
// are right again, because the checkpoint writes them. What still shows it:
//
//   - SQLite makes the database as long as its header says. If it was truncated, zeros are where its
//     last page was.
//   - If an older copy was written over it, the pages that were written last are older. If they are
//     not, the copy has every page that the log does not have, and nothing is missing.
type untouchedPages struct {
	logged *wal.Content
	pages  []storedPage
}

// storedPage is a page of the database, and where it begins.
type storedPage struct {
	start   int64
	content []byte
}

// writtenLast is how many of the pages that were written last are compared: SQLite may write a page
// that has not changed.
const writtenLast = 4

// untouched returns the last page and those that were written last, or fewer if there are none or they
// cannot be read.
func (files *openFiles) untouched(logged *wal.Content) untouchedPages {
	found := untouchedPages{logged: logged}
	last := min(logged.DatabasePages, files.database.least/files.first.pageSize())
	for page := last; page > 0 && len(found.pages) == 0; page-- {
		files.addPage(&found, page)
	}
	for i := len(files.copied) - 1; i >= 0 && len(found.pages) <= writtenLast; i-- {
		files.addPage(&found, files.copied[i])
	}
	return found
}

// addPage adds a page, unless the checkpoint writes it or cuts it off, or it is empty:
// SQLite does not write every page that it takes.
func (files *openFiles) addPage(to *untouchedPages, page int64) {
	if to.logged.Pages[page] > 0 || page > to.logged.DatabasePages {
		return
	}
	pageSize := files.first.pageSize()
	stored := storedPage{(page - 1) * pageSize, make([]byte, pageSize)}
	err := files.database.read(stored.content, stored.start)
	if err == nil && !isEmpty(stored.content) {
		to.pages = append(to.pages, stored)
	}
}

func isEmpty(page []byte) bool { return bytes.Count(page, []byte{0}) == len(page) }

// maxCopied is how many pages [openFiles] remembers: more than a log usually has.
const maxCopied = 8 * checkpointPages

// noteCopied remembers the pages of a log that was copied, in the order in which they were written last.
func (files *openFiles) noteCopied(logged map[int64]int64) {
	older := slices.DeleteFunc(files.copied, func(page int64) bool { return logged[page] > 0 })
	newer := slices.SortedFunc(maps.Keys(logged), func(a, b int64) int { return cmp.Compare(logged[a], logged[b]) })
	pages := append(older, newer...)
	files.copied = pages[max(0, len(pages)-maxCopied):]
}

// wasOverwritten reports whether another program has truncated or overwritten the database before a
// checkpoint ended. It is false if that is not known, or if the log is another one, which may have the pages.
func (files *openFiles) wasOverwritten(before untouchedPages) bool {
	if !slices.ContainsFunc(before.pages, files.hasChanged) {
		return false
	}
	index, err := files.readIndex()
	return err == nil && index.Salts() == before.logged.Header.Salts() && index.Frames() == before.logged.Used
}

// hasChanged reports whether a page of the database is another one now.
func (files *openFiles) hasChanged(page storedPage) bool {
	content := make([]byte, len(page.content))
	err := files.database.read(content, page.start)
	return err == nil && !bytes.Equal(content, page.content) // a disk that fails says nothing about the content
}
