package plantcontract

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest"
)

// doer sends the requests of a generated client.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// generatedClient returns a check by a client that oapi-codegen has generated: it must find the
// body of a response in the typed field of its status. connect returns the client on a
// connection. Methods are found by the name of the operation.
func generatedClient(connect func(doer) any) func(operationID string, x contracttest.Interaction) []contracttest.Fault {
	return func(operationID string, x contracttest.Interaction) []contracttest.Fault {
		fault := func(format string, args ...any) []contracttest.Fault {
			return []contracttest.Fault{{Where: "generated client", Keyword: operationID, Message: fmt.Sprintf(format, args...)}}
		}
		client := reflect.ValueOf(connect(func(*http.Request) (*http.Response, error) {
			return &http.Response{
				Status:     fmt.Sprint(x.Status, " ", http.StatusText(x.Status)),
				StatusCode: x.Status,
				Header:     x.Header,
				Body:       io.NopCloser(bytes.NewReader(x.Body)),
			}, nil
		}))
		// Of several methods for an operation, WithBody takes any body.
		name := strings.ToUpper(operationID[:1]) + operationID[1:]
		method := client.MethodByName(name + "WithBodyWithResponse")
		if !method.IsValid() {
			method = client.MethodByName(name + "WithResponse")
		}
		if !method.IsValid() {
			return fault("has no method for it")
		}
		args := []reflect.Value{reflect.ValueOf(context.Background())}
		for i := 1; i < method.Type().NumIn()-1; i++ { // the last are the variadic editors
			args = append(args, reflect.Zero(method.Type().In(i)))
		}
		results := method.Call(args)
		if err, _ := results[1].Interface().(error); err != nil {
			return fault("cannot read the response: %v", err)
		}
		if len(x.Body) == 0 || !strings.Contains(x.Header.Get("Content-Type"), "json") {
			return nil
		}
		field := results[0].Elem().FieldByName(fmt.Sprintf("JSON%d", x.Status))
		if !field.IsValid() || field.IsNil() {
			return fault("has no typed body for status %d", x.Status)
		}
		return nil
	}
}
