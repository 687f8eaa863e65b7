package cli

import (
	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store/open"
)

// noAdmin is the --admin-addr of a service without an admin listener.
const noAdmin = "off"

// addrFlag is --addr, for every command that has to do with the public listener.
func addrFlag(usage string) cli.Flag {
	return &cli.StringFlag{
		Name:    "addr",
		Usage:   usage,
		Value:   "127.0.0.1:8080",
		Sources: cli.EnvVars("PLANTSTORE_ADDR"),
	}
}

// adminFlag is --admin-addr, for every command that has to do with the admin
// listener.
func adminFlag(usage string) cli.Flag {
	return &cli.StringFlag{
		Name:    "admin-addr",
		Usage:   usage,
		Value:   noAdmin,
		Sources: cli.EnvVars("PLANTSTORE_ADMIN_ADDR"),
	}
}

// adminAddr is the address of the admin listener; empty if there is none.
func adminAddr(cmd *cli.Command) string {
	if addr := cmd.String("admin-addr"); addr != noAdmin {
		return addr
	}
	return ""
}

// keepIn is what --store means to a command that works on a whole store.
const keepIn = "keep plants and tokens in `STORE`: a path, sqlite:PATH, sqlite::memory: (gone at the end), or postgres://…"

// storeFlag is --store, for every command that needs a store.
func storeFlag(usage string) cli.Flag {
	return &cli.StringFlag{
		Name:    "store",
		Usage:   usage,
		Value:   open.Default,
		Sources: cli.EnvVars("PLANTSTORE_STORE"),
	}
}
