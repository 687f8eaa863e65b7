// Pocketbase is PocketBase, embedded as its documentation shows, with a
// collection of plants, at the durability of ours: an acknowledged create
// survives a power cut. It stores its files in the folder of its argument.
package main

import (
	"fmt"
	"log"
	"net"
	"os"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(folder string) error {
	app := pocketbase.NewWithConfig(pocketbase.Config{
		DefaultDataDir:  folder,
		HideStartBanner: true,
		DBConnect:       connect,
	})
	if err := app.Bootstrap(); err != nil {
		return err
	}
	if err := app.RunAllMigrations(); err != nil {
		return err
	}
	app.Settings().Logs.MaxDays = 0 // no log of requests
	app.Settings().RateLimits.Enabled = false
	if err := app.Save(app.Settings()); err != nil {
		return err
	}
	if err := createPlants(app); err != nil {
		return err
	}
	token, err := createUser(app)
	if err != nil {
		return err
	}
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		e.Listener, e.InstallerFunc = listener, nil
		if err := e.Next(); err != nil {
			return err
		}
		fmt.Printf("listens on http://%v with the token %s\n", listener.Addr(), token)
		return nil
	})
	return apis.Serve(app, apis.ServeConfig{HttpAddr: "127.0.0.1:0"})
}

// connect opens a database as PocketBase does by default, but for synchronous:
// NORMAL loses acknowledged creates in a power cut.
func connect(path string) (*dbx.DB, error) {
	return dbx.Open("sqlite", path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(200000000)"+
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)")
}

// createPlants creates the collection. In PocketBase an id is a text, so the number is
// sent as text. The primary key is the only index. Every user may create.
func createPlants(app core.App) error {
	plants := core.NewBaseCollection("plants")
	rule := `@request.auth.id != ""`
	plants.CreateRule = &rule
	plants.Fields.RemoveByName("id")
	plants.Fields.Add(
		&core.TextField{Name: "id", System: true, PrimaryKey: true, Required: true, Min: 1, Max: 20, Pattern: `^-?[0-9]+$`},
		&core.TextField{Name: "name", Required: true},
		&core.TextField{Name: "tag"},
	)
	return app.Save(plants)
}

// createUser creates a user and returns a token for it.
func createUser(app core.App) (string, error) {
	users, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return "", err
	}
	user := core.NewRecord(users)
	user.SetEmail("benchmark@example.com")
	user.SetPassword("a-password-of-the-benchmark")
	if err := app.Save(user); err != nil {
		return "", err
	}
	return user.NewAuthToken()
}
