package contract

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/plantstore/plantstore/gen/plantclient"
)

// checkClient lets gen/plantclient read an answer: its body must land in the
// typed field of its status. The method is found by the operation's name, so a
// new operation is checked without a word here.
func checkClient(doc *document, x Exchange) []Fault {
	if x.Method == http.MethodHead {
		return nil // no client has it
	}
	name := doc.find(x.Method, x.Path).operation.OperationID
	fault := func(format string, args ...any) []Fault {
		return []Fault{{"gen/plantclient", name, fmt.Sprintf(format, args...)}}
	}
	replay := doer(func(*http.Request) (*http.Response, error) {
		return &http.Response{
			Status:     fmt.Sprint(x.Status, " ", http.StatusText(x.Status)),
			StatusCode: x.Status,
			Header:     x.Header,
			Body:       io.NopCloser(bytes.NewReader(x.Body)),
		}, nil
	})
	client, err := plantclient.NewClientWithResponses("http://plantstore.invalid", plantclient.WithHTTPClient(replay))
	if err != nil {
		return fault("%v", err)
	}
	method := clientMethod(client, name)
	if !method.IsValid() {
		return fault("has no method for it")
	}
	args := []reflect.Value{reflect.ValueOf(context.Background())}
	for i := 1; i < method.Type().NumIn()-1; i++ { // the last are the variadic editors
		args = append(args, reflect.Zero(method.Type().In(i)))
	}
	results := method.Call(args)
	if err, _ := results[1].Interface().(error); err != nil {
		return fault("cannot read the answer: %v", err)
	}
	if len(x.Body) == 0 {
		return nil
	}
	field := results[0].Elem().FieldByName(fmt.Sprintf("JSON%d", x.Status))
	if !field.IsValid() || field.IsNil() {
		return fault("has no typed body for status %d", x.Status)
	}
	return nil
}

// clientMethod finds the method that sends an operation; where there are
// several, the one that takes any body.
func clientMethod(client *plantclient.ClientWithResponses, operationID string) reflect.Value {
	v := reflect.ValueOf(client)
	name := strings.ToUpper(operationID[:1]) + operationID[1:]
	if m := v.MethodByName(name + "WithBodyWithResponse"); m.IsValid() {
		return m
	}
	return v.MethodByName(name + "WithResponse")
}

// doer is a client's connection to nowhere.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }
