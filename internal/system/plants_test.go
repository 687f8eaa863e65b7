package system_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/internal/testing/must"
	"github.com/plantstore/plantstore/internal/testing/program"
	"github.com/plantstore/plantstore/internal/testing/wait"
)

// listAll returns all plants of a service by their IDs.
func listAll(t testing.TB, url, token string) map[int64]client.Plant {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	all := map[int64]client.Plant{}
	for p, err := range (&program.Server{URL: url, Token: token}).Dial(t).All(ctx, client.PageSize(1000)) {
		must.NoError(t, err)
		all[p.ID] = p
	}
	return all
}

func plantName(id int64) string { return fmt.Sprint("plant ", id) }

// batchOf returns the body of a batch of n plants.
func batchOf(first, n int64, name string) string {
	var plants []string
	for id := first; id < first+n; id++ {
		plants = append(plants, fmt.Sprintf(`{"id":%d,"name":%q}`, id, name))
	}
	return `{"plants":[` + strings.Join(plants, ",") + `]}`
}
