package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/plantstore/plantstore/gen/plantserver"
)

// checkedBody is the body of a request after checkBody has read and checked it. It
// replaces the Body of the request, so that the value that is bound is the value
// that was checked.
type checkedBody struct {
	decoder
	text  []byte
	value any
}

// checkedBodies are used again, except for large ones. New ones would cost 10 % of
// the CPU of the handler for each create.
var checkedBodies = sync.Pool{New: func() any { return new(checkedBody) }}

// maxPooled is the largest body that is used again.
const maxPooled = 64 << 10

// release returns the body to the pool. It must not be used after that.
func (b *checkedBody) release() {
	if cap(b.text) > maxPooled {
		return
	}
	b.value = nil
	checkedBodies.Put(b)
}

// Read fails: a checkedBody can only be bound.
func (*checkedBody) Read([]byte) (int, error) {
	return 0, errors.New("the body has been read and checked, it can only be bound")
}

func (*checkedBody) Close() error { return nil }

// bindBody stores the checked body in *into. It does not parse the body again,
// because a second parser could read another value.
func bindBody(r *http.Request, into any) error {
	body := r.Body.(*checkedBody)
	r.Body = http.NoBody
	defer body.release()
	if err := plantserver.BindJSON(body.value, into); err != nil {
		return fmt.Errorf("bind a body that matches the schema: %w", err)
	}
	return nil
}
