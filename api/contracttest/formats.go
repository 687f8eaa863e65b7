package contracttest

import (
	"encoding/base64"
	"errors"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// format is a format of strings that this package can check.
type format struct {
	valid, invalid []string
	check          func(string) error
}

// formats are the formats that a document may give a string. One without a check
// allows any text.
var formats = map[string]format{
	"date-time": {
		[]string{"2026-11-20T09:00:00Z", "2024-02-29T23:59:59.999999+14:00"},
		[]string{"", "2026-11-20", "2026-11-20 09:00:00", "2026-13-01T00:00:00Z", "2026-11-20T09:00:00", "1763629200"},
		func(s string) error {
			_, err := time.Parse(time.RFC3339Nano, s)
			return errors.Join(err, rfc3339(s)) // time.Parse takes a comma, too
		},
	},
	"date": {
		[]string{"2026-11-20", "2024-02-29"},
		[]string{"", "20.11.2026", "2026-13-01", "2026-02-30", "2026-11-20T09:00:00Z"},
		func(s string) error { _, err := time.Parse(time.DateOnly, s); return err },
	},
	"uuid": {
		[]string{"01935a7e-8d3c-7c1e-9a55-0c4d6a1f2b3e"},
		[]string{"", "1", "01935a7e-8d3c-7c1e-9a55-0c4d6a1f2b3", "01935a7e-8d3c-7c1e-9a55-0c4d6a1f2b3g"},
		matching(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`),
	},
	"email": {
		[]string{"ficus@plants.example"},
		[]string{"", "ficus", "ficus@", "@plants.example"},
		func(s string) error {
			if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
				return errors.New("is not an email address")
			}
			return nil
		},
	},
	"uri": {
		[]string{"https://plants.example/ficus?a=b#c"},
		[]string{"", "ficus", "//plants.example", "https://plants.example/a b"},
		func(s string) error {
			u, err := url.Parse(s)
			if err == nil && !u.IsAbs() {
				err = errors.New("is not absolute")
			}
			return errors.Join(err, printable(s))
		},
	},
	"uri-reference": {
		[]string{"/ficus?a=b#c", "https://plants.example/"},
		[]string{"a b", "%zz"},
		func(s string) error { _, err := url.Parse(s); return errors.Join(err, printable(s)) },
	},
	"byte": {
		[]string{"RmljdXM=", ""},
		[]string{"RmljdXM", "Rml*dXM="},
		func(s string) error { _, err := base64.StdEncoding.DecodeString(s); return err },
	},
	"hostname": {
		[]string{"plants.example"},
		[]string{"", "-plants.example", "plants example"},
		matching(`^([0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?\.)*[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?$`),
	},
	"ipv4": {
		[]string{"192.0.2.1"},
		[]string{"", "192.0.2", "192.0.2.256", "2001:db8::1"},
		func(s string) error { return addressOf(s, netip.Addr.Is4) },
	},
	"ipv6": {
		[]string{"2001:db8::1"},
		[]string{"", "192.0.2.1", "2001:db8::g"},
		func(s string) error { return addressOf(s, netip.Addr.Is6) },
	},
	"password": {},
	"binary":   {},
}

func unknownFormat(s *openapi3.Schema) bool {
	_, known := formats[s.Format]
	return s.Format != "" && !known
}

var (
	rfc3339   = matching(openapi3.FormatOfStringDateTime)
	printable = matching(`^[!-~]*$`)
)

func matching(pattern string) func(string) error {
	compiled := regexp.MustCompile(pattern)
	return func(s string) error {
		if !compiled.MatchString(s) {
			return errors.New("does not have the format")
		}
		return nil
	}
}

func addressOf(s string, is func(netip.Addr) bool) error {
	a, err := netip.ParseAddr(s)
	if err == nil && !is(a) {
		err = errors.New("is an address of another family")
	}
	return err
}

// formatValidators are the checks as kin-openapi takes them.
var formatValidators = func() map[string]openapi3.StringFormatValidator {
	all := map[string]openapi3.StringFormatValidator{}
	for name, f := range formats {
		check := f.check
		if check == nil {
			check = func(string) error { return nil }
		}
		all[name] = openapi3.NewCallbackValidator(check)
	}
	return all
}()
