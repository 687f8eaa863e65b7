package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/api/contracttest"
)

// optionsOf returns the options of a file and of the flags, which have precedence.
func optionsOf(cmd *cli.Command) (options contracttest.Options, err error) {
	if options, err = readOptions(cmd.String("options")); err != nil {
		return options, err
	}
	header, err := parseHeader(cmd.StringSlice("header"))
	if err != nil {
		return options, err
	}
	known, err := readBaseline(cmd.String("baseline"), cmd.Bool("write-baseline"))
	if err != nil {
		return options, err
	}
	given, err := parseValues(cmd.StringSlice("value"))
	if err != nil {
		return options, err
	}
	options.Values = merged(options.Values, given)
	options.Header = merged(canonical(options.Header), header)
	options.Known = merged(options.Known, known)
	options.Seed = cmp.Or(cmd.Uint64("seed"), options.Seed)
	options.Include = append(options.Include, cmd.StringSlice("include")...)
	options.Exclude = append(options.Exclude, cmd.StringSlice("exclude")...)
	options.Only = cmp.Or(cmd.String("only"), options.Only)
	if options.Only != "" && options.Seed == 0 {
		return options, errors.New("--only needs the --seed of the run that has found the cause")
	}
	options.Limits = contracttest.Limits{
		Time:     cmd.Duration("max-time"),
		Requests: int(cmd.Uint32("max-requests")),
		Response: cmd.Duration("timeout"),
	}
	options.Parallel = int(cmd.Uint32("parallel"))
	return options, nil
}

// logIn adds the credentials of a login to the options, if one is asked for, and those of a second user.
func logIn(ctx context.Context, cmd *cli.Command, url string, options *contracttest.Options) error {
	if path := cmd.String("login"); path != "" {
		given, err := loggedIn(ctx, addressOf(path, url), cmd.String("login-body"))
		if err != nil {
			return err
		}
		options.Header = merged(options.Header, given)
	}
	return addOther(ctx, cmd, url, options)
}

// loggedIn is the header that a login gives.
func loggedIn(ctx context.Context, address, given string) (http.Header, error) {
	body, err := loginBody(given)
	if err != nil {
		return nil, err
	}
	return contracttest.LogIn(ctx, address, body)
}

// loginBody is the body of a login, or what a file has whose name follows an @, as curl has it: all users of a machine
// can read the arguments of a command.
//
//	--login-body 'user=a&password=b'
//	--login-body @login.json
func loginBody(given string) (string, error) {
	name, isFile := strings.CutPrefix(given, "@")
	if !isFile {
		return given, nil
	}
	text, err := os.ReadFile(name)
	return strings.TrimSuffix(string(text), "\n"), err
}

// addressOf is a URL, or that of a path below another one.
func addressOf(path, below string) string {
	if isURL(path) {
		return path
	}
	return strings.TrimSuffix(below, "/") + path
}

// readOptions reads the options in a file of JSON, if there is one.
func readOptions(path string) (options contracttest.Options, err error) {
	if path == "" {
		return options, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return options, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&options); err != nil {
		return options, fmt.Errorf("%s: %w", path, err)
	}
	return options, nil
}

// canonical is a header with the usual names. People write them in any case, and what a flag gives replaces what the
// file has under the same name.
func canonical(header http.Header) http.Header {
	same := http.Header{}
	for name, values := range header {
		same[http.CanonicalHeaderKey(name)] = values
	}
	return same
}

// merged returns the entries of two maps; b has precedence.
func merged[M ~map[string]V, V any](a, b M) M {
	all := M{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// parseValues reads texts such as "name=value".
func parseValues(texts []string) (map[string]string, error) {
	given := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--value must be NAME=VALUE, got %q", text)
		}
		given[name] = value
	}
	return given, nil
}

// parseHeader reads lines such as "Name: value". A name may be given more than once.
func parseHeader(lines []string) (http.Header, error) {
	header := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("--header must be 'NAME: VALUE', got %q", line)
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return header, nil
}

// addOther adds the second user of --as, who may log in where the first one does.
//
//	--as 'bob: -H Authorization: Bearer …'
//	--as 'bob: --login /token --login-body user=bob&password=…'
func addOther(ctx context.Context, cmd *cli.Command, url string, options *contracttest.Options) (err error) {
	as := cmd.String("as")
	if as == "" {
		return nil
	}
	name, flags, _ := strings.Cut(as, ":")
	given := flagsOfUser(flags)
	login := append(given["--login"], cmd.String("login"))[0] // of --as, or else of the first user
	body, header := given["--login-body"], given["-H"]
	switch {
	case len(body) > 0:
		options.Other.Header, err = loggedIn(ctx, addressOf(login, url), body[0])
	case len(header) > 0:
		options.Other.Header, err = parseHeader(header)
	default:
		return fmt.Errorf("--as must be 'NAME: -H HEADER' or 'NAME: --login URL --login-body BODY', got %.20q", as)
	}
	options.Other.Name = name
	return err
}

// flagOfUser finds a flag in --as.
var flagOfUser = regexp.MustCompile(`\s+(-H|--login|--login-body)\s+`)

// flagsOfUser returns the values of the flags in a text: what follows a flag, up to the next one, maybe in quotes.
func flagsOfUser(text string) map[string][]string {
	given := map[string][]string{}
	values := flagOfUser.Split(text, -1)[1:] // what is before the first flag is not a value
	for i, flag := range flagOfUser.FindAllStringSubmatch(text, -1) {
		given[flag[1]] = append(given[flag[1]], strings.Trim(values[i], ` '"`))
	}
	return given
}
