package pgtest

import (
	"os"
	"testing"
)

// CitusVariable is the environment variable with the URL of the coordinator of a
// database with the extension Citus. `.ci/citus up DIR` prints one.
const CitusVariable = "PLANTSTORE_TEST_CITUS"

// Citus is [DSN] for the database with the URL in CitusVariable. It skips the test if
// the variable is not set. The tables that the test creates are not sharded.
func Citus(t testing.TB) string {
	t.Helper()
	dsn := os.Getenv(CitusVariable)
	if dsn == "" {
		t.Skip("needs Citus: .ci/drill test-citus")
	}
	return Schema(t, dsn)
}
