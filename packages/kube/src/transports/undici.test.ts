import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { issueAuthority, issueServing } from '../admission/self-made/issue.ts';
import type { ServingPair } from '../admission/server.ts';
import { createClient } from '../client/create-client.ts';
import { realClock } from '../clock/clock.ts';
import { KubeError } from '../contract/errors.ts';
import type { ClusterConfig } from '../credentials/cluster-config.ts';
import { configMaps, nodes } from '../types/core.ts';
import { type UndiciTransport, type UndiciTransportOptions, undiciTransport } from './undici.ts';

let plane: ControlPlane;
const transports: UndiciTransport[] = [];
beforeAll(async () => {
  plane = await startControlPlane({ port: 0, controllers: false });
});
afterEach(async () => {
  for (const transport of transports.splice(0)) await transport.close();
});
afterAll(() => plane.close());

function connect(change: Partial<UndiciTransportOptions> = {}) {
  const transport = undiciTransport({
    server: plane.url ?? '',
    ...(plane.caCertificate === undefined ? {} : { ca: plane.caCertificate }),
    token: plane.adminToken,
    ...change,
  });
  transports.push(transport);
  return createClient({ transport, userAgent: 'test', clock: realClock });
}

const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('over HTTPS', () => {
  test('requests and watches get answers', async () => {
    const resource = connect().resource(configMaps, 'default');
    const seen: string[] = [];
    const { metadata } = await resource.list();
    const stop = new AbortController();
    const watching = (async () => {
      for await (const event of resource.watch({ resourceVersion: metadata.resourceVersion, signal: stop.signal })) {
        seen.push(event.type);
        if (event.type === 'DELETED') stop.abort(new Error('seen enough'));
      }
    })();
    await resource.create({ metadata: { name: 'a' }, data: { k: 'grüße' } });
    expect((await resource.get('a')).data).toEqual({ k: 'grüße' });
    await resource.patch('a', { type: 'merge', body: { data: { k: '2' } } });
    await resource.delete('a');
    await expect(watching).rejects.toThrow('seen enough');
    expect(seen).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });

  test('a server with an unknown CA gets no request', async () => {
    const error = await failure(connect({ ca: '' }).resource(nodes).list());
    expect(error).toMatchObject({ code: 0 });
    expect(String(error)).toMatch(/certificate/);
  });

  test('a wrong token is a 401, and the request is sent again with a new token', async () => {
    let forgotten = 0;
    const tokens = ['wrong', 'wrong', plane.adminToken];
    const client = connect({
      authorization: async () => `Bearer ${tokens[forgotten]}`,
      forgetAuthorization: () => {
        forgotten++;
      },
    });
    expect(await failure(client.resource(nodes).list())).toMatchObject({ code: 401 });
    expect(forgotten).toBe(1);
    expect((await client.resource(nodes).list()).items).toEqual([]);
    expect(forgotten).toBe(2);
  });

  test('a refusal with a long body does not block its connection', async () => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked += 1;
      response.writeHead(asked === 1 ? 401 : 200).end(asked === 1 ? 'x'.repeat(1_000_000) : '{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const authorization = async () => `Bearer ${asked}`;
    const client = connect({ server: `http://127.0.0.1:${port}`, connections: 1, authorization });
    expect(await client.resource(nodes).get('n')).toEqual({});
  });

  test.each([undefined, 'proxied'])('a connection without data for 30 s is probed: %s', async (by) => {
    const asked = vi.spyOn(Socket.prototype, 'setKeepAlive');
    onTestFinished(() => asked.mockRestore());
    await failure(
      connect(by === undefined ? {} : { proxyUrl: new URL(plane.url ?? '').origin })
        .resource(nodes)
        .list(),
    );
    expect(asked.mock.calls.filter(([on]) => on)).toContainEqual([true, 30_000]);
  });

  test('many requests share a limited number of connections', async () => {
    const resource = connect({ connections: 2 }).resource(configMaps, 'default');
    const names = Array.from({ length: 40 }, (_, i) => `c${i}`);
    await Promise.all(names.map((name) => resource.create({ metadata: { name } })));
    expect((await resource.list()).items.length).toBeGreaterThanOrEqual(40);
  });

  test('close ends running requests', async () => {
    const client = connect();
    const watching = failure(
      (async () => {
        for await (const event of client.resource(nodes).watch({ onOpen: () => void transports[0]?.close() }))
          return event;
        return undefined;
      })(),
    );
    expect(await watching).toBeInstanceOf(KubeError);
  });
});

describe('connections', () => {
  async function listen(server: Server): Promise<string> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  test('a read over a connection that the server has closed is sent again, a write is not', async () => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(request.method ?? '');
      if (seen.length % 2 === 1) request.socket.destroy();
      else response.end('{}');
    });
    const client = connect({ server: await listen(server) });
    expect(await client.resource(nodes).get('n')).toEqual({});
    expect(seen).toEqual(['GET', 'GET']);
    expect(await failure(client.resource(nodes).create({ metadata: { name: 'n' }, spec: {} }))).toMatchObject({
      code: 0,
    });
    expect(seen).toEqual(['GET', 'GET', 'POST']);
    server.close();
  });

  test('the connection stays open after a DELETE with options', async () => {
    let connections = 0;
    const bodies: string[] = [];
    const server = createServer(async (request, response) => {
      for await (const chunk of request) bodies.push(String(chunk));
      response.end('{}');
    });
    server.on('connection', () => {
      connections += 1;
    });
    const resource = connect({ server: await listen(server), connections: 1 }).resource(nodes);
    for (const name of ['a', 'b', 'c']) await resource.delete(name, { gracePeriodSeconds: 0 });
    expect(bodies.map((body) => JSON.parse(body))).toMatchObject(Array(3).fill({ gracePeriodSeconds: 0 }));
    expect(connections).toBe(1);
    server.close();
  });

  test("the path in the server's address is a prefix of every request's path", async () => {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url ?? '');
      response.end('{}');
    });
    const client = connect({ server: `${await listen(server)}/clusters/one/` });
    await client.resource(nodes).get('n');
    expect(paths).toEqual(['/clusters/one/api/v1/nodes/n']);
    server.close();
  });

  test('a refused connection is an error that names it', async () => {
    const error = await failure(connect({ server: 'https://127.0.0.1:1' }).resource(nodes).list());
    expect(String(error)).toContain('ECONNREFUSED');
  });

  test('an invalid address is refused', () => {
    expect(() => undiciTransport({ server: 'api:6443' })).toThrow(
      'the address of the API server must be an http(s) URL',
    );
  });
});

describe('changed files', () => {
  const issued = async () => {
    const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) };
    const authority = await issueAuthority(validity);
    return { ca: authority.cert, pair: await issueServing(authority, ['127.0.0.1'], validity) };
  };

  async function secure(pair: ServingPair) {
    const [seen, held, release] = [[] as string[], Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const names = new Map<string, string>();
    const tls = { ...pair, requestCert: true, rejectUnauthorized: false };
    const nameOf = (socket: Socket): string =>
      names.get((socket as TLSSocket).getPeerX509Certificate()?.fingerprint256 ?? '') ?? 'nobody';
    const closed = new Map<string, PromiseWithResolvers<void>>();
    const server = createSecureServer(tls, async (request, response) => {
      const name = nameOf(request.socket);
      seen.push(`${request.method} ${name}`);
      request.socket.once('close', () => endOf(name).resolve());
      if (request.url?.endsWith('/held')) {
        held.resolve();
        await release.promise;
      }
      response.end('{}');
    });
    const endOf = (name: string): PromiseWithResolvers<void> => {
      const end = closed.get(name) ?? Promise.withResolvers<void>();
      closed.set(name, end);
      return end;
    };
    server.keepAliveTimeout = 600_000; // The timeout exceeds the duration of the test, so the connection stays open.
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    const url = `https://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
    const connectionsEnd = (name: string): Promise<void> => endOf(name).promise;
    return { url, seen, held: held.promise, release: release.resolve, names, closed: connectionsEnd };
  }

  test('new connections use the new certificate, and running requests end with the old one', async () => {
    const [own, one, two] = [await issued(), await issued(), await issued()];
    const t = await secure(own.pair);
    for (const [name, { pair }] of Object.entries({ one, two }))
      t.names.set(new X509Certificate(pair.cert).fingerprint256, name);
    const as = ({ pair }: typeof one): ClusterConfig => ({
      server: t.url,
      ca: own.ca,
      clientCertificate: { certificate: pair.cert, key: pair.key },
    });
    const first = as(one);
    let now = first;
    const resource = connect({ ...now, latest: async () => now }).resource(nodes);
    const waiting = resource.get('held');
    await t.held;
    now = as(two);
    await resource.create({ metadata: { name: 'n' }, spec: {} });
    t.release();
    expect(await waiting).toEqual({});
    await t.closed('one');
    now = first; // The request was delayed for a long time, so its configuration is old.
    await resource.get('n');
    expect(t.seen).toEqual(['GET one', 'POST two', 'GET two']);
  });

  test('a request whose credentials do not arrive ends at its time limit', async () => {
    const t = await secure((await issued()).pair);
    const limit = AbortSignal.timeout(50);
    const never = connect({ server: t.url, latest: () => new Promise<never>(() => undefined) });
    const started = Date.now();
    const expired = never.resource(nodes).get('n', { signal: limit });
    await expect(expired).rejects.toThrow(/timeout/);
    expect(Date.now() - started).toBeLessThan(5_000);
    expect(t.seen).toEqual([]);
  }, 10_000);

  test('close also ends running requests with an old certificate', async () => {
    const [own, one] = [await issued(), await issued()];
    const t = await secure(own.pair);
    const first: ClusterConfig = { server: t.url, ca: own.ca };
    let now = first;
    const resource = connect({ ...now, latest: async () => now }).resource(nodes);
    const waiting = failure(resource.get('held'));
    await t.held;
    now = { ...first, clientCertificate: { certificate: one.pair.cert, key: one.pair.key } };
    await resource.get('n');
    await transports.at(-1)?.close();
    expect(await waiting).toMatchObject({ code: 0 });
  });

  test('after a change of the authority in the files, a request is sent again immediately, once', async () => {
    const [before, after] = [await issued(), await issued()];
    const t = await secure(after.pair);
    const now = { server: t.url, ca: after.ca };
    let [looked, read] = [0, false];
    const options = { server: t.url, ca: before.ca };
    const resource = connect({
      ...options,
      latest: async () => (read ? now : options),
      lookAgain: () => {
        looked += 1;
        read = looked > 1;
      },
    }).resource(nodes);
    const make = () => resource.create({ metadata: { name: 'n' }, spec: {} });
    expect(String(await failure(make()))).toMatch(/certificate/);
    expect(t.seen).toEqual([]);
    await make();
    expect(t.seen).toEqual(['POST nobody']);
    expect(looked).toBe(2);
  });
});
