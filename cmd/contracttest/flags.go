package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
)

// flags declares the flags. options.go makes contracttest.Options of them.
func flags() []cli.Flag {
	return slices.Concat(serviceFlags(), choiceFlags(), limitFlags(), reportFlags())
}

// serviceFlags say how to speak with the service.
func serviceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name: "header", Aliases: []string{"H"},
			Usage: "send `'NAME: VALUE'` with every request; credentials are left out where a test sends none",
		},
		&cli.StringFlag{
			Name:  "login",
			Usage: "POST --login-body to `URL`, or a path below that of the service, and use the access_token or the cookies of the response",
		},
		&cli.StringFlag{Name: "login-body", Usage: "log in with `'a=b&c=d'`, with an object of JSON, or with what is in @FILE"},
		&cli.StringSliceFlag{
			Name:  "value",
			Usage: "send `NAME=VALUE` as this parameter or member of a body wherever it may be: a tenant, a version",
		},
		&cli.StringFlag{
			Name:  "options",
			Usage: "read contracttest.Options as JSON from `FILE`: Resources and Lists correct what was inferred",
		},
	}
}

// choiceFlags say what is tested, and what may fail.
func choiceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name:  "include",
			Usage: "test only the operations with this `ID, PATH, METHOD or TAG`, such as GET or '/things*'",
		},
		&cli.StringSliceFlag{
			Name:  "exclude",
			Usage: "send no request of the operations with this `ID, PATH, METHOD or TAG`",
		},
		&cli.StringFlag{
			Name:  "only",
			Usage: "end with the first request that fails for the cause with this `ID`, and show no other; needs --seed",
		},
		&cli.StringFlag{
			Name:  "as",
			Usage: "test if a second user gets at what the first one has created: `'NAME: -H HEADER'`, or 'NAME: --login URL --login-body BODY'",
		},
		&cli.StringFlag{
			Name:  "baseline",
			Usage: "let the causes and promises that are not tested in `FILE` not fail: an id and a comment in each line",
		},
		&cli.BoolFlag{
			Name:  "write-baseline",
			Usage: "write the causes and promises that are not tested of this run to the file of --baseline, and exit with 0",
		},
	}
}

// limitFlags say how long the tests go on, and with which values.
func limitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{
			Name:      "timeout",
			Value:     10 * time.Second,
			Validator: isTime,
			Usage:     "accuse an operation that does not respond within this `TIME`; a GET, which may be a long poll, and a DELETE have a minute",
		},
		&cli.DurationFlag{
			Name:      "max-time",
			Value:     5 * time.Minute,
			Validator: isTime,
			Usage:     "end with a report after this `TIME`, such as 90s; what was not tried is not tested; 0: run all tests",
		},
		&cli.Uint32Flag{
			Name:        "max-requests",
			HideDefault: true,
			Usage:       "end with a report after this `NUMBER` of requests: with --seed, the same ones on each machine",
		},
		&cli.Uint32Flag{
			Name:        "parallel",
			HideDefault: true,
			Usage:       "run this `NUMBER` of tests at the same time, as far as they do not see each other's work: for a service that waits",
		},
		&cli.Uint64Flag{
			Name:        "seed",
			HideDefault: true,
			Usage:       "draw the values of an earlier run again",
		},
	}
}

// reportFlags say where the result is written, beside the text for people.
func reportFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "junit", Usage: "write JUnit XML to `FILE`"},
		&cli.StringFlag{Name: "html", Usage: "write a page with every promise to `FILE`"},
		&cli.StringFlag{Name: "text", Usage: "write every promise as text to `FILE`"},
		&cli.StringFlag{Name: "json", Usage: "write the report as JSON, for programs, to `FILE`"},
		&cli.BoolFlag{
			Name:  "github",
			Usage: "show each cause at its operation of DOCUMENT in a pull request of GitHub, and the first ones in the summary of the job",
		},
	}
}

// aTime is what a flag must be.
const aTime = "a time with its unit, such as 90s or 5m"

// isTime validates a flag.
func isTime(given time.Duration) error {
	if given < 0 {
		return errors.New("it must be " + aTime)
	}
	return nil
}

// wrongUsage returns a mistake in the flags. By itself the library prints a page of help.
func wrongUsage(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	return wrong(explainUsage(cmd, err))
}

// adviceFor says what a flag must be.
var adviceFor = map[string]string{
	"max-requests":   "a number of requests, such as 5000",
	"parallel":       "a number of tests, such as 8",
	"max-time":       aTime,
	"timeout":        aTime,
	"seed":           "the number that an earlier run has printed",
	"write-baseline": "true or false",
	"github":         "true or false",
	"min":            "a number from 0 to 100",
}

// explainUsage says what to do about a mistake in the flags. The library has no types for these errors, and some have
// the words of strconv:
//
//	flag provided but not defined: -sed
//	invalid value "x" for flag -seed: strconv.ParseUint: parsing "x": invalid syntax
func explainUsage(cmd *cli.Command, err error) error {
	if _, name, isUnknown := strings.Cut(err.Error(), "flag provided but not defined: "); isUnknown {
		hint := cli.SuggestFlag(cmd.Flags, strings.TrimLeft(name, "-"), true)
		if hint != "" {
			hint = ": did you mean " + hint + "?"
		}
		return fmt.Errorf("unknown flag -%s%s (%s --help lists the flags)", name, hint, cmd.FullName())
	}
	if wrongValue, rest, isValue := strings.Cut(err.Error(), " for flag -"); isValue {
		name, _, _ := strings.Cut(rest, ":")
		return fmt.Errorf("%s for --%s: it must be %s (%s --help lists the flags)", wrongValue, name, adviceFor[name], cmd.FullName())
	}
	return fmt.Errorf("%w (%s --help lists the flags)", err, cmd.FullName())
}
