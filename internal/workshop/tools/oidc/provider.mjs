// An identity provider for make test-oidc: node-oidc-provider, with one client and one
// resource. Usage: node provider.mjs PORT [PAGE], the address of a page that people sign in to, with any
// name and password; its tokens are valid for ten seconds. It prints a line once it listens and one for
// each request, as in "GET /jwks". SIGHUP rotates its keys: a new one signs, the one
// before stays published. SIGTERM stops it.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const page = process.argv[3];
const audience = 'https://plants.example.com';

const newKey = () => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid: randomUUID(), alg: 'RS256', use: 'sig',
});

const serveKeys = (keys) => new Provider(issuer, {
  jwks: { keys },
  clients: [{
    client_id: 'garden', client_secret: 'a-secret-of-the-garden', grant_types: ['client_credentials'],
    redirect_uris: [], response_types: [], scope: 'read write',
  }, ...(page ? [{
    client_id: 'page', token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'], redirect_uris: [page], scope: 'read write offline_access',
  }] : [])],
  scopes: ['read', 'write', 'offline_access'],
  clientBasedCORS: () => true,
  issueRefreshToken: () => true,
  pkce: { required: () => true },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: Boolean(page) },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'read write', audience, accessTokenFormat: 'jwt', accessTokenTTL: page ? 10 : 300, jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
}).callback();

let keys = [newKey()];
let serve = serveKeys(keys);
process.on('SIGHUP', () => {
  keys = [newKey(), keys[0]];
  serve = serveKeys(keys);
  console.log('rotated');
});
process.on('SIGTERM', () => process.exit(0));
createServer((request, response) => {
  console.log(`${request.method} ${request.url}`);
  serve(request, response);
}).listen(port, '127.0.0.1', () => console.log(`listens on ${issuer}`));
