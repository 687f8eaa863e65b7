package main

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/plantstore/plantstore/internal/token"
)

// announce prints where the service listens and, if asked to, a new token with
// a line that creates a plant.
func announce(ctx context.Context, stdout io.Writer, addr net.Addr, tokens token.Store, printToken bool) error {
	url := "http://" + addr.String()
	fmt.Fprintln(stdout, "plantstore listens on", url)
	if !printToken {
		return nil
	}
	t, text := token.New("serve", []token.Scope{token.Read, token.Write}, printedTokenLife)
	if err := tokens.CreateToken(ctx, t); err != nil {
		return err
	}
	fmt.Fprintf(stdout, `
token, good for 24 hours: %s

Create a plant:

curl -i %s/plants -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '{"id":1,"name":"Ficus lyrata","tag":"Moraceae"}'

`, text, url, text)
	return nil
}
