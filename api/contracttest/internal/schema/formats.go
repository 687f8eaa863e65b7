package schema

import (
	"encoding/base64"
	"errors"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Format is a format of texts, with texts to try it with.
type Format struct {
	Valid, Invalid []string
	// Check returns what is wrong with a text. Nil: the format allows any text.
	Check func(string) error
}

// Formats are those that a document may give a text. jsonschema knows most of them, but takes too much
// for some: the functions here replace its own.
var Formats = map[string]Format{
	"date-time": {
		Valid:   []string{"2026-11-20T09:00:00Z", "2024-02-29T23:59:59.999999+14:00"},
		Invalid: []string{"", "2026-11-20", "2026-11-20 09:00:00", "2026-13-01T00:00:00Z", "2026-11-20T09:00:00", "1763629200"},
		Check:   checkDateTime,
	},
	"date": {
		Valid:   []string{"2026-11-20", "2024-02-29"},
		Invalid: []string{"", "20.11.2026", "2026-13-01", "2026-02-30", "2026-11-20T09:00:00Z"},
		Check: func(text string) error {
			_, err := time.Parse(time.DateOnly, text)
			return err
		},
	},
	"uuid": {
		Valid:   []string{"01935a7e-8d3c-7c1e-9a55-0c4d6a1f2b3e"},
		Invalid: []string{"", "1", "01935a7e-8d3c-7c1e-9a55-0c4d6a1f2b3", "01935a7e-8d3c-7c1e-9a55-0c4d6a1f2b3g"},
		Check:   matching(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`),
	},
	"email": {
		Valid:   []string{"ficus@plants.example"},
		Invalid: []string{"", "ficus", "ficus@", "@plants.example"},
		Check:   checkEmail,
	},
	"uri": {
		Valid:   []string{"https://plants.example/ficus?a=b#c"},
		Invalid: []string{"", "ficus", "//plants.example", "https://plants.example/a b"},
		Check:   checkURI,
	},
	"uri-reference": {
		Valid:   []string{"/ficus?a=b#c", "https://plants.example/"},
		Invalid: []string{"a b", "%zz"},
		Check: func(text string) error {
			_, err := url.Parse(text)
			return errors.Join(err, checkPrintable(text))
		},
	},
	"byte": {
		Valid:   []string{"RmljdXM=", ""},
		Invalid: []string{"RmljdXM", "Rml*dXM="},
		Check: func(text string) error {
			_, err := base64.StdEncoding.DecodeString(text)
			return err
		},
	},
	"hostname": {
		Valid:   []string{"plants.example"},
		Invalid: []string{"", "-plants.example", "plants example"},
		Check:   matching(`^([0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?\.)*[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?$`),
	},
	"ipv4": {
		Valid:   []string{"192.0.2.1"},
		Invalid: []string{"", "192.0.2", "192.0.2.256", "2001:db8::1"},
		Check:   func(text string) error { return checkAddress(text, netip.Addr.Is4) },
	},
	"ipv6": {
		Valid:   []string{"2001:db8::1"},
		Invalid: []string{"", "192.0.2.1", "2001:db8::g"},
		Check:   func(text string) error { return checkAddress(text, netip.Addr.Is6) },
	},
	"duration": {
		Valid:   []string{"P3DT4H", "P2W", "PT0S"},
		Invalid: []string{"", "P", "3d", "P3DT", "P1W2D", "pt5m"},
		Check:   checkDuration,
	},
	"time": {
		Valid:   []string{"09:30:00Z", "23:59:59.5+14:00"},
		Invalid: []string{"", "ficus", "25:00:00Z", "2026-11-20"},
		Check:   matching(`^(?i)([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?$`), // many leave out the zone
	},
	"json-pointer": {Valid: []string{"/ficus/0"}},
	"uri-template": {Valid: []string{"https://plants.example/{name}"}},
	"regex":        {Valid: []string{"^fic[us]+$"}},
	"iri":          {Valid: []string{"https://plants.example/ficus"}},
	"idn-email":    {Valid: []string{"ficus@plants.example"}},
	"idn-hostname": {Valid: []string{"plants.example"}},
	"password":     {},
	"binary":       {},
}

// IsKnownFormat reports whether texts of a format can be checked. That a text has no format is known, too.
func IsKnownFormat(name string) bool {
	_, known := Formats[name]
	return known || name == ""
}

var (
	checkRFC3339   = matching(`^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
	checkPrintable = matching(`^[!-~]*$`)
	checkPeriod    = matching(`^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)$`)

	errNoFormat      = errors.New("does not have the format")
	errNoEmail       = errors.New("is not an email address")
	errNotAbsolute   = errors.New("is not absolute")
	errAddressFamily = errors.New("is not an address of the family")
)

// checkDateTime has two checks: time.Parse takes a comma, too, and a pattern takes February 30.
func checkDateTime(text string) error {
	text = strings.ToUpper(text) // T and Z may be small (RFC 3339, section 5.6)
	_, err := time.Parse(time.RFC3339Nano, text)
	return errors.Join(err, checkRFC3339(text))
}

// checkDuration takes what RFC 3339, appendix A, does, with a part at least, and one after T.
func checkDuration(text string) error {
	if strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return errNoFormat
	}
	return checkPeriod(text)
}

// checkEmail takes an address alone: package mail would also take a name before it.
func checkEmail(text string) error {
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text {
		return errNoEmail
	}
	return nil
}

// checkURI takes what is absolute: package url reads any text as a reference.
func checkURI(text string) error {
	address, err := url.Parse(text)
	if err == nil && !address.IsAbs() {
		err = errNotAbsolute
	}
	return errors.Join(err, checkPrintable(text))
}

// checkAddress takes an IP address of one family: package netip reads both alike.
func checkAddress(text string, isOfFamily func(netip.Addr) bool) error {
	address, _ := netip.ParseAddr(text) // what is no address is of no family
	if !isOfFamily(address) {
		return errAddressFamily
	}
	return nil
}

// matching makes a check of a pattern.
func matching(pattern string) func(string) error {
	compiled := regexp.MustCompile(pattern)
	return func(text string) error {
		if !compiled.MatchString(text) {
			return errNoFormat
		}
		return nil
	}
}
