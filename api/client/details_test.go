package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
	"github.com/plantstore/plantstore/internal/testing/expect"
)

// An error says which plants of a request have which fault.
func TestDetails(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), clienttest.New(t).Client()
	long := strings.Repeat("a", 1001)
	plants := make([]client.Plant, 40)
	for i := range plants {
		plants[i] = client.Plant{ID: int64(100 + i), Name: "a"}
	}
	expect.NoError(t, second(c.CreateBatch(ctx, plants)))
	for i := range plants {
		plants[i].Name = "b"
	}
	detail := func(in, pointer, field string, index int, id int64) client.Detail {
		return client.Detail{In: in, Pointer: pointer, Field: field, Index: index, PlantID: id}
	}
	taken := []client.Plant{{ID: 7}, plants[3], {ID: 8}, plants[1], {ID: 7}}
	for _, test := range []struct {
		what string
		err  error
		want []client.Detail
		says string
	}{
		{
			"two ids are taken",
			second(c.CreateBatch(ctx, taken[:4])),
			[]client.Detail{detail("body", "/plants/1/id", "id", 1, 103), detail("body", "/plants/3/id", "id", 3, 101)},
			"create 4 plants: another plant has this id: plant 103: id belongs to another plant; " +
				"plant 101: id belongs to another plant (400",
		},
		{
			"an id is in the batch twice",
			second(c.CreateBatch(ctx, taken)),
			[]client.Detail{detail("body", "/plants/4/id", "id", 4, 7)},
			"another plant has this id: plant 7: id is in this batch more than once (400",
		},
		{
			"two names are too long",
			second(c.CreateBatch(ctx, []client.Plant{{ID: 7}, {ID: 8, Name: long}, {ID: 9, Name: long}})),
			[]client.Detail{detail("body", "/plants/1/name", "name", 1, 8), detail("body", "/plants/2/name", "name", 2, 9)},
			"the body does not match the schema: plant 8: name must ",
		},
		{
			"a long name",
			c.Create(ctx, client.Plant{ID: 7, Name: long}),
			[]client.Detail{detail("body", "/name", "name", -1, 7)},
			"create plant 7: the body does not match the schema: name must ",
		},
		{
			"a page of nothing",
			second(c.List(ctx, client.PageSize(0))),
			[]client.Detail{detail("query", "/limit", "limit", -1, 0)},
			"list plants: a parameter is not valid: limit ",
		},
	} {
		e, ok := errors.AsType[*client.Error](test.err)
		if !ok {
			t.Errorf("%s: the error is %v", test.what, test.err)
			continue
		}
		got := slices.Clone(e.Details)
		for i := range got {
			got[i].Message = ""
		}
		if !slices.Equal(got, test.want) || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("%s: the details are %+v, want %+v, and the error is %v, want %s…",
				test.what, e.Details, test.want, test.err, test.says)
		}
	}
	e, _ := errors.AsType[*client.Error](second(c.CreateBatch(ctx, plants)))
	for i, d := range e.Details {
		if d.Index != i || d.PlantID != int64(100+i) {
			t.Errorf("detail %d is %+v", i, d)
		}
	}
	if len(e.Details) != 32 {
		t.Errorf("%d of 40 ids that are taken are listed, want 32", len(e.Details))
	}
	// A service of a later release may have other errors.
	later := at(t, handle(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		fmt.Fprint(w, `{"error":40099,"message":"it is too late",
			"details":[{"in":"body","pointer":"/plants/9/name","message":"is late"}]}`)
	}))
	expect.Message(t, "an unknown code", later.Create(ctx, client.Plant{}), "it is too late: name is late (400 Bad Request, error 40099)")
}
