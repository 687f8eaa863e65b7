package cli

import (
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store/open"
)

// noAdmin is the --admin-addr of a service without an admin listener.
const noAdmin = "off"

// addrFlag is --addr, for the commands that use the public listener.
func addrFlag(usage string) cli.Flag {
	return &cli.StringFlag{
		Name:    "addr",
		Usage:   usage,
		Value:   "127.0.0.1:8080",
		Sources: cli.EnvVars("PLANTSTORE_ADDR"),
	}
}

// adminFlag is --admin-addr, for the commands that use the admin listener.
func adminFlag(usage string) cli.Flag {
	return &cli.StringFlag{
		Name:    "admin-addr",
		Usage:   usage,
		Value:   noAdmin,
		Sources: cli.EnvVars("PLANTSTORE_ADMIN_ADDR"),
	}
}

// adminAddr returns the address of the admin listener; empty if there is none.
func adminAddr(cmd *cli.Command) string {
	if addr := cmd.String("admin-addr"); addr != noAdmin {
		return addr
	}
	return ""
}

// anyStore is the usage of --store for a command that takes every kind of store.
const anyStore = "use `STORE` for plants and tokens: a path, sqlite:PATH, sqlite::memory: (keeps nothing), or postgres://…"

// storeFlag is --store, for the commands that use a store.
func storeFlag(usage string) cli.Flag {
	return &cli.StringFlag{
		Name:    "store",
		Usage:   usage,
		Value:   open.Default,
		Sources: cli.EnvVars("PLANTSTORE_STORE"),
	}
}
