// Plain is the plainest service that keeps plants as durably as ours: the server of stock over one SQLite
// file, with a transaction for each request. It stores its file in the folder of its argument.
package main

import (
	"context"
	"database/sql"
	"flag"
	"net/http"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"github.com/plantstore/plantstore/internal/plant"
	"github.com/plantstore/plantstore/internal/workshop/bench/peer"
	"github.com/plantstore/plantstore/internal/workshop/bench/strictserver"
)

func main() {
	peer.Main(func(*peer.Plants) (http.Handler, error) {
		store, err := open(filepath.Join(flag.Arg(0), "plants.db"))
		if err != nil {
			return nil, err
		}
		return strictserver.NewValidated(store)
	})
}

// store keeps plants in a table. SQLite allows one write at a time, so there is one connection.
type store struct{ db *sql.DB }

func open(path string) (store, error) {
	const durable = "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	db, err := sql.Open("sqlite", "file:"+path+durable)
	if err != nil {
		return store{}, err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)")
	return store{db}, err
}

// Create stores a plant unless another one has its id.
func (s store) Create(ctx context.Context, p plant.Plant) error {
	stored, err := s.db.ExecContext(ctx, "INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", p.ID, p.Name, p.Tag)
	if err != nil {
		return err
	}
	if rows, err := stored.RowsAffected(); err != nil || rows == 1 {
		return err
	}
	old := plant.Plant{ID: p.ID}
	row := s.db.QueryRowContext(ctx, "SELECT name, tag FROM plants WHERE id = ?", p.ID)
	if err := row.Scan(&old.Name, &old.Tag); err != nil {
		return err
	}
	if !old.Same(p) {
		return plant.ErrExists
	}
	return nil
}
