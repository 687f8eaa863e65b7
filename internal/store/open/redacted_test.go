package open

import (
	"strings"
	"testing"
)

// A message names the database and shows nothing of a user, a password or a parameter.
func TestRedacted(t *testing.T) {
	for name, want := range map[string]string{
		"plants.db":             "plants.db",
		"sqlite:plants.db":      "sqlite:plants.db",
		"postgres://db1/plants": "postgres://db1/plants",
		"postgresql://flora:s3cret@db1:5432/plants":                                              "postgresql://db1:5432/plants",
		"postgres://flora:s3cret@db1,db2:5433,[::1]:5432/plants?sslmode=require&password=s3cret": "postgres://db1,db2:5433,[::1]:5432/plants",
		"postgres://flora:s3cret@/plants?user=s3cret&host=/run/postgresql":                       "postgres:///plants?host=/run/postgresql",
		"postgres://flora:s3cret@db1":                                                            "postgres://db1",

		// A password with a character that must be escaped, or no host.
		"postgres://flora:s3cret/plants":                "postgres://…",
		"postgres://flora:1/s3cret@db1/plants":          "postgres://…",
		"postgres://flora:1?s3cret@db1/plants":          "postgres://…",
		"postgres://flora:1#s3cret@db1/plants":          "postgres://…",
		"postgres://flora:1#s3cret":                     "postgres://…",
		"postgres://flora:s3cret@s3cret@db1/plants":     "postgres://…",
		"postgres://flora:1@s3cret/s3cret@db1/plants":   "postgres://…",
		"postgres://flora:s3cret db1/plants":            "postgres://…",
		"postgres://flora@db1/plants?host=db1;s3cret":   "postgres://db1/plants",
		"postgres://flora@db1/plants?password=a@s3cret": "postgres://…",
		"mysql://flora:s3cret@db1/plants":               "mysql://…",
		"POSTGRES://flora:s3cret@db1/plants":            "POSTGRES://…",
	} {
		got := Redacted(name)
		if got != want || strings.Contains(got, "s3cret") {
			t.Errorf("Redacted(%s) = %s, want %s", name, got, want)
		}
	}
}
