package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/plantstore/plantstore/api/client"
	"github.com/plantstore/plantstore/api/client/clienttest"
)

// exampleT stands for the *testing.T of a test, which examples do not have.
type exampleT struct {
	testing.TB
	ended []func()
}

func (t *exampleT) Helper()                  {}
func (t *exampleT) Context() context.Context { return context.Background() }
func (t *exampleT) Cleanup(f func())         { t.ended = append(t.ended, f) }
func (t *exampleT) Error(args ...any)        { fmt.Println(args...) }
func (t *exampleT) Fatal(args ...any)        { panic(fmt.Sprint(args...)) }
func (t *exampleT) end() {
	for i := range t.ended {
		t.ended[len(t.ended)-1-i]()
	}
}

// A create can be repeated. Another plant with the id is an error.
func ExampleClient_Create() {
	t := &exampleT{}
	defer t.end()
	ctx, c := t.Context(), clienttest.New(t).Client()
	for _, name := range []string{"Ficus lyrata", "Ficus lyrata", "Monstera deliciosa"} {
		err := c.Create(ctx, client.Plant{ID: 1, Name: name})
		fmt.Println(name, err, errors.Is(err, client.ErrIDTaken))
	}
	// Output:
	// Ficus lyrata <nil> false
	// Ficus lyrata <nil> false
	// Monstera deliciosa plantstore: create plant 1: another plant has this id: id belongs to another plant (400 Bad Request, error 40010) true
}

// All reads page after page.
func ExampleClient_All() {
	t := &exampleT{}
	defer t.end()
	ctx, c := t.Context(), clienttest.New(t).Client()
	_, err := c.CreateBatch(ctx, []client.Plant{
		{ID: 1, Name: "Ficus lyrata", Tag: new("Moraceae")},
		{ID: 2, Name: "Monstera deliciosa", Tag: new("Araceae")},
		{ID: 3, Name: "Ficus elastica", Tag: new("Moraceae")},
	})
	if err != nil {
		fmt.Println(err)
	}
	for p, err := range c.All(ctx, client.HasTag("Moraceae")) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.ID, p.Name)
	}
	// Output:
	// 1 Ficus lyrata
	// 3 Ficus elastica
}

// Update reads and writes again until no other client was faster.
func ExampleClient_Update() {
	t := &exampleT{}
	defer t.end()
	ctx, c := t.Context(), clienttest.New(t).Client()
	if err := c.Create(ctx, client.Plant{ID: 1, Name: "Ficus lyrata"}); err != nil {
		fmt.Println(err)
	}
	p, err := c.Update(ctx, 1, func(p *client.Plant) error {
		p.Name += " (window)"
		return nil
	})
	fmt.Println(p.Name, err)
	// Output: Ficus lyrata (window) <nil>
}

// A history has the states before each change, the newest first.
func ExampleClient_History() {
	t := &exampleT{}
	defer t.end()
	ctx, c := t.Context(), clienttest.New(t).Client()
	if err := c.Create(ctx, client.Plant{ID: 1, Name: "Ficus lyrat"}); err != nil {
		fmt.Println(err)
	}
	if _, err := c.Patch(ctx, 1, client.Patch{Name: new("Ficus lyrata")}); err != nil {
		fmt.Println(err)
	}
	for entry, err := range c.History(ctx, 1) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(entry.ChangedBy, entry.Change, "it was", entry.Plant.Name)
	}
	// Output: test patched it was Ficus lyrat
}

// A program can be tested with a service that fails: here the first response gets lost, and the create is sent again.
func Example_failingService() {
	t := &exampleT{}
	defer t.end()
	server := clienttest.New(t)
	server.Fail(1, clienttest.Cut)
	err := server.Client().Create(t.Context(), client.Plant{ID: 1, Name: "Ficus lyrata"})
	p, getErr := server.Client().Get(t.Context(), 1)
	fmt.Println(err, p.Name, getErr)
	// Output: <nil> Ficus lyrata <nil>
}

// Errors have the status, the number and the details of the response.
func ExampleError() {
	t := &exampleT{}
	defer t.end()
	_, err := clienttest.New(t).Client().Get(t.Context(), 7)
	if failed, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(failed.Status == http.StatusNotFound, errors.Is(err, client.ErrNoSuchPlant))
	}
	// Output: true true
}
