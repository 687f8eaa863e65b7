package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/store/open"
)

// noAdmin is the --admin-addr of a service without an admin listener.
const noAdmin = "off"

// addrFlag is --addr, for the commands that use the public listener.
func addrFlag(usage string) cli.Flag {
	return textFlag("addr", "127.0.0.1:8080", usage)
}

// adminFlag is --admin-addr, for the commands that use the admin listener.
func adminFlag(usage string) cli.Flag {
	return textFlag("admin-addr", noAdmin, usage)
}

// adminAddr returns the address of the admin listener; empty if there is none.
func adminAddr(command *cli.Command) string {
	if addr := command.String("admin-addr"); addr != noAdmin {
		return addr
	}
	return ""
}

// anyStore is the usage of --store for a command that takes every kind of store.
const anyStore = "use `STORE` for plants and tokens: a path, sqlite:PATH, sqlite::memory: (keeps nothing), or postgres://…"

// storeFlag is --store, for the commands that use a store.
func storeFlag(usage string) cli.Flag {
	return textFlag("store", open.Default, usage)
}

// The functions below return a flag that can also be set by an environment variable;
// see environment.

func textFlag(name, value, usage string) *cli.StringFlag {
	return &cli.StringFlag{Name: name, Value: value, Usage: usage, Sources: environment(name)}
}

func boolFlag(name, usage string) *cli.BoolFlag {
	return &cli.BoolFlag{Name: name, Usage: usage, Sources: environment(name)}
}

// intFlag returns a flag for a number of at least 1.
func intFlag(name string, value int, usage string) *parsedFlag[int] {
	return &parsedFlag[int]{Name: name, Value: value, Config: parseCount, Usage: usage, Sources: environment(name)}
}

// durationFlag returns a flag for a duration of at least so long that parseSpan reads.
func durationFlag(name string, least, value time.Duration, usage string) *parsedFlag[time.Duration] {
	parse := func(text string) (time.Duration, error) {
		span, err := parseSpan(text)
		if err == nil && span < least {
			err = fmt.Errorf("must be at least %s", spanText(least))
		}
		return span, err
	}
	return &parsedFlag[time.Duration]{Name: name, Value: value, Config: parse, Usage: usage, Sources: environment(name)}
}

// prefix begins the name of every environment variable.
const prefix = "PLANTSTORE_"

// environment returns the environment variable of a flag: PLANTSTORE_BASE_URL for
// --base-url.
func environment(name string) cli.ValueSourceChain {
	return cli.EnvVars(prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
}

// parsedFlag is a flag whose text is read by its Config. The flags of the library
// accept no days, and explain a mistake with the text of strconv.
type parsedFlag[T any] = cli.FlagBase[T, parse[T], parsed[T]]

type parse[T any] = func(text string) (T, error)

// parsed is the value of a parsedFlag.
type parsed[T any] struct {
	value *T
	parse parse[T]
}

func (parsed[T]) Create(value T, into *T, parse parse[T]) cli.Value {
	*into = value
	return &parsed[T]{into, parse}
}

func (parsed[T]) ToString(value T) string {
	if span, ok := any(value).(time.Duration); ok {
		return spanText(span)
	}
	return fmt.Sprint(value)
}

func (p *parsed[T]) Set(text string) (err error) {
	*p.value, err = p.parse(text)
	return err
}

func (p *parsed[T]) Get() any { return *p.value }

func (p *parsed[T]) String() string { return fmt.Sprint(*p.value) }

// parseSpan parses a duration: 1y, 90d, 12h, 1h30m. A year has 365 days.
func parseSpan(text string) (time.Duration, error) {
	// A hundred years. More is a mistake, and would soon overflow a time.Duration.
	const maxDays = 36_500
	span, err := time.ParseDuration(text)
	for unit, days := range map[string]uint64{"d": 1, "y": 365} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			var n uint64
			n, err = strconv.ParseUint(number, 10, 32)
			span = time.Duration(min(n*days, maxDays+1)) * 24 * time.Hour
		}
	}
	if err != nil || span < 0 || span > maxDays*24*time.Hour {
		return 0, errors.New("must be a duration, as in 90d, 12h or 30m")
	}
	return span, nil
}

// spanText is a duration as people write it for parseSpan: 90d, where its String has 2160h0m0s.
func spanText(span time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if span > 0 && span%unit.length == 0 {
			return fmt.Sprint(int64(span/unit.length), unit.name)
		}
	}
	return span.String()
}

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errors.New("must be a number, at least 1")
	}
	return n, nil
}
