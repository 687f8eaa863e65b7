// An identity provider for make test-oidc: node-oidc-provider, with one client and one
// resource. Usage: node provider.mjs PORT. It prints a line once it listens and one for
// each request, as in "GET /jwks". SIGHUP rotates its keys: a new one signs, the one
// before stays published. SIGTERM stops it.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
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
  }],
  scopes: ['read', 'write'],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      getResourceServerInfo: () => ({
        scope: 'read write', audience, accessTokenFormat: 'jwt', accessTokenTTL: 300, jwt: { sign: { alg: 'RS256' } },
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
