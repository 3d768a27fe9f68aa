// Serves an oauth2-mock-server at an address, and takes orders there too:
//
//	node serve.mjs MODULE HOST PORT
//
//	POST /control/next    a list of orders: how the next requests for tokens are answered
//	GET  /control/count   how many requests for tokens have come
//
// An order is one object, of oauth2mock.go's type Order.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [module, host, port] = process.argv.slice(2);
const { OAuth2Issuer, OAuth2Service } = await import(pathToFileURL(module).href);

const issuer = new OAuth2Issuer();
issuer.url = `http://${host}:${port}`;
await issuer.keys.generate('RS256');
const service = new OAuth2Service(issuer);

const orders = [];
let count = 0;

// Two tokens of one second would be the same.
service.on('beforeTokenSigning', (token) => {
  token.payload.jti = randomUUID();
});

service.on('beforeResponse', (response, request) => {
  const { status, change } = request.order ?? {};
  response.statusCode = status || response.statusCode;
  for (const [name, value] of Object.entries(change ?? {})) {
    if (value === null) delete response.body[name];
    else response.body[name] = value;
  }
});

// grant answers a request for a token, as it was ordered or as the server does.
async function grant(request, response) {
  count++;
  const order = orders.shift() ?? {};
  if (order.delay) await new Promise((done) => setTimeout(done, order.delay));
  if (order.cut) {
    request.socket.destroy();
  } else if (order.body) {
    request.resume();
    response.writeHead(order.status || 200, { 'Content-Type': order.type }).end(order.body);
  } else {
    request.order = order;
    service.requestHandler(request, response);
  }
}

async function read(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

createServer(async (request, response) => {
  switch (request.url) {
    case '/control/next':
      orders.push(...(await read(request)));
      response.writeHead(204).end();
      break;
    case '/control/count':
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ count }));
      break;
    case '/token':
      await grant(request, response);
      break;
    default:
      service.requestHandler(request, response);
  }
}).listen(Number(port), host);
