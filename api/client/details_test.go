package client_test

import (
	"errors"
	"fmt"
	"net/http"
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
	taken := []client.Plant{{ID: 7}, plants[3], {ID: 8}, plants[1], {ID: 7}}
	for _, test := range []struct {
		err  error
		want string // each detail: in, pointer, field, index, id of the plant
		says string
	}{
		{
			second(c.CreateBatch(ctx, taken[:4])), "body /plants/1/id id 1 103, body /plants/3/id id 3 101",
			"create 4 plants: another plant has this id: plant 103: id belongs to another plant; " +
				"plant 101: id belongs to another plant (400",
		},
		{
			second(c.CreateBatch(ctx, taken)), "body /plants/4/id id 4 7",
			"another plant has this id: plant 7: id is in this batch more than once (400",
		},
		{
			second(c.CreateBatch(ctx, []client.Plant{{ID: 7}, {ID: 8, Name: long}, {ID: 9, Name: long}})),
			"body /plants/1/name name 1 8, body /plants/2/name name 2 9",
			"the body does not match the schema: plant 8: name must ",
		},
		{
			c.Create(ctx, client.Plant{ID: 7, Name: long}), "body /name name -1 7",
			"create plant 7: the body does not match the schema: name must ",
		},
		{second(c.CreateBatch(ctx, nil)), "body /plants plants -1 0", "schema: plants "},
		{second(c.List(ctx, client.PageSize(0))), "query /limit limit -1 0", "list plants: a parameter is not valid: limit "},
	} {
		var got []string
		if e, ok := errors.AsType[*client.Error](test.err); ok {
			for _, d := range e.Details {
				got = append(got, fmt.Sprint(d.In, " ", d.Pointer, " ", d.Field, " ", d.Index, " ", d.PlantID))
			}
		}
		if strings.Join(got, ", ") != test.want || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("the details are %q, want %s, and the error is %v, want %s…", got, test.want, test.err, test.says)
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
