package client

import (
	"bytes"
	"encoding/json"
)

// encode writes the body of a request, unless there was an error making it. Unlike
// [json.Marshal] it does not escape <, > and &, so that a batch is not several times as
// large, and then larger than the service allows.
func encode(body any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(body)
	return b.Bytes(), err
}
