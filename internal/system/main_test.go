// Package system tests the program as a whole: it starts `plantstore` as a person or
// systemd does, breaks what is around it, and looks at what its clients see.
//
// The longest tests are drills. Each skips unless a variable asks for it, and says which
// command does.
package system_test

import (
	"testing"

	"github.com/plantstore/plantstore/internal/cli"
	"github.com/plantstore/plantstore/internal/testing/program"
)

func TestMain(m *testing.M) { program.Main(m, func() int { return cli.Main("") }) }
