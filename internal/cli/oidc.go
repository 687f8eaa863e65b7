package cli

import (
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/plantstore/plantstore/internal/oidc"
)

// oidcFlags are the flags of serve for an identity provider.
func oidcFlags() []cli.Flag {
	return []cli.Flag{
		textFlag("oidc-issuer", "", "accept the JWT access tokens of the identity provider at `URL`, too; needs --oidc-audience"),
		textFlag("oidc-audience", "", "refuse tokens of the provider without `AUDIENCE` in their claim aud"),
		textFlag("oidc-scope-claim", "", "take the scopes from the claim `NAME` (default: scope, scp or permissions, the first that a token has)"),
		textFlag("oidc-scope-prefix", "", "take the scopes to begin with `PREFIX`, as in plants: for plants:read and plants:write"),
		boolFlag("oidc-require-at-jwt", "refuse tokens of the provider whose type is not at+jwt (RFC 9068)"),
		durationFlag("oidc-max-lifetime", oidc.DefaultMaxLifetime, "refuse tokens of the provider that are valid for longer than `TIME`: token revoke does not reach them"),
	}
}

// oidcConfig returns the settings of oidcFlags; the zero Config without a provider.
func oidcConfig(cmd *cli.Command) (oidc.Config, error) {
	config := oidc.Config{
		Issuer:       cmd.String("oidc-issuer"),
		Audience:     cmd.String("oidc-audience"),
		ScopeClaim:   cmd.String("oidc-scope-claim"),
		ScopePrefix:  cmd.String("oidc-scope-prefix"),
		RequireATJWT: cmd.Bool("oidc-require-at-jwt"),
		MaxLifetime:  cmd.Duration("oidc-max-lifetime"),
	}
	if config.Issuer != "" {
		return config, nil
	}
	for _, flag := range oidcFlags() {
		if name := flag.Names()[0]; cmd.IsSet(name) && name != "oidc-issuer" {
			return oidc.Config{}, fmt.Errorf("--%s needs --oidc-issuer URL", name)
		}
	}
	return oidc.Config{}, nil
}
