package httpapi

import (
	"context"

	"github.com/plantstore/plantstore/gen/plantapi"
	"github.com/plantstore/plantstore/gen/plantserver"
)

func (s *server) GetToken(
	ctx context.Context, _ plantserver.GetTokenRequestObject,
) (plantserver.GetTokenResponseObject, error) {
	granted := scopeOf(ctx).granted
	described := plantapi.Token{Name: granted.name, Scopes: []string{}, ReadOnly: s.ReadOnly}
	for _, scope := range granted.scopes {
		described.Scopes = append(described.Scopes, string(scope))
	}
	if !granted.expires.IsZero() {
		described.ExpiresAt = new(granted.expires.UTC())
	}
	return response{body: &described, cacheControl: cacheControl}, nil
}
