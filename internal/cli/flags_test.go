package cli

import (
	"testing"
	"time"

	"github.com/plantstore/plantstore/internal/httpapi"
	"github.com/plantstore/plantstore/internal/testing/expect"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]httpapi.Rate{
		"off":       {},
		"0":         {},
		"100/s":     {Limit: 100, Per: time.Second},
		"600/m":     {Limit: 600, Per: time.Minute},
		"5000/h":    {Limit: 5000, Per: time.Hour},
		"1000000/s": {Limit: 1_000_000, Per: time.Second},
	} {
		if got, err := parseRate(text); got != want || err != nil {
			t.Errorf("parseRate(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "often", "100", "-1", "+1", "1.5", "0/s", "1/", "/s", "1/d", "1/S", "1/s/s", "1000001/s", "4000000000/h"} {
		if got, err := parseRate(text); err == nil {
			t.Errorf("parseRate(%q) = %v, want an error", text, got)
		}
	}
}

func TestCheckOrigin(t *testing.T) {
	for _, text := range []string{"*", "https://plants.example.com", "http://localhost:3000", "http://[::1]:3000", "app://plants"} {
		expect.NoError(t, checkOrigin(text))
	}
	for _, text := range []string{"", "null", "plants.example.com", "https://", "https://a.example/", "https://a.example/x", "https://u@a.example", "https://A.example", "https://*.example"} {
		if checkOrigin(text) == nil {
			t.Errorf("checkOrigin(%q) = nil, want an error", text)
		}
	}
}

func TestParseSpan(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0s": 0, "1h30m": 90 * time.Minute, "7d": 7 * day, "1y": 365 * day, "100y": 36_500 * day,
	} {
		if got, err := parseSpan(text); err != nil || got != want {
			t.Errorf("parseSpan(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "d", "y", "7", "-1h", "-1d", "1.5d", "1.5y", "101y", "36501d", "99999999999y", "99999999999999999999y", "999999999999999999999d", "1y1d",
	} {
		if got, err := parseSpan(text); err == nil {
			t.Errorf("parseSpan(%q) = %v, want an error", text, got)
		}
	}
}
