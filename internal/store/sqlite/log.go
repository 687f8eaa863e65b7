package sqlite

import (
	"fmt"
	"os"

	"zombiezen.com/go/sqlite"

	"github.com/plantstore/plantstore/internal/shell"
	"github.com/plantstore/plantstore/internal/store/sqlite/wal"
)

// renewMarkQuery gives the database and its log a new mark; see [wal.Mark].
const renewMarkQuery = "UPDATE log_mark SET before = mark, restored = mark, mark = randomblob(8) RETURNING mark"

// renewMark gives the database and its log a new mark, and returns it.
func renewMark(conn *sqlite.Conn) (renewed wal.Mark, err error) {
	err = query(conn, renewMarkQuery, func(row *sqlite.Stmt) error {
		row.ColumnBytes(0, renewed[:])
		return nil
	})
	return renewed, err
}

// markNewLogQuery is renewMarkQuery at the beginning of a log. The parameter is the mark that the file
// had just before. It is another one than that of the table if .restore of sqlite3 has begun the log,
// or if another program has copied the log meanwhile.
const markNewLogQuery = "UPDATE log_mark SET before = mark, restored = coalesce(nullif(?, zeroblob(8)), mark), mark = randomblob(8)"

// markNewLog renews the mark if the log has begun anew since the last call, as the look at the
// files has seen. If that fails, the next call tries again: it must not fail writes that are durable.
func (s *Store) markNewLog(conn *sqlite.Conn) {
	salts := s.files.salts()
	if salts == s.marked {
		return
	}
	before, err := s.files.readMark()
	if err == nil && execute(conn, markNewLogQuery, before[:]) == nil {
		s.marked = salts
		s.files.noteWrite()
	}
}

// readLog reads the log of the database at path. It is empty if there is none, or if it cannot be
// read, which SQLite explains.
func readLog(path string) *wal.Content {
	file, err := os.Open(path + "-wal")
	if err != nil {
		return &wal.Content{}
	}
	defer file.Close()
	logged, _ := wal.Read(file)
	return logged
}

// checkLog returns an error if a log has lost commits, or is not of the database at path.
func checkLog(logged *wal.Content, path string) error {
	const stop = "stop every program that uses these files, and run"
	if lost := logged.LostCommits(); lost > 0 {
		log, kept := shell.Quote(path+"-wal"), shell.Quote(path+"-wal.damaged")
		return fmt.Errorf("%[1]s-wal is damaged, and commits (%[2]d) are behind the damage; nothing was changed; "+
			"move %[1]s* to another directory, and restore a backup (plantstore restore); or, to go on without these "+
			"commits, %[3]s cp -p %[4]s %[5]s && truncate -s %[6]d %[4]s", path, lost, stop, log, kept, logged.End(logged.Used))
	}
	if !belongsToFile(logged, path) {
		return fmt.Errorf("%[1]s-wal is the log of another database than %[1]s, perhaps an older or newer one; nothing "+
			"was changed; put back the database of this log; or, to use %[1]s without it, %[2]s %[3]s",
			path, stop, without(path, "-wal"))
	}
	return nil
}

// belongsToFile reports whether a log is of the database at path.
func belongsToFile(logged *wal.Content, path string) bool {
	database, err := os.Open(path)
	if err != nil {
		return true // SQLite explains the error
	}
	defer database.Close()
	return logged.BelongsTo(database)
}

// without returns the command that takes a file from the database at path.
func without(path, suffix string) string {
	return fmt.Sprintf("mv %s %s", shell.Quote(path+suffix), shell.Quote(path+suffix+".other"))
}
