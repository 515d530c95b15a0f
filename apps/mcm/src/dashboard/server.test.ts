import { request } from 'node:http';
import { crds, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { createClient, handlerTransport, type Lease, leases, realClock, seededRandom } from '@mcm/kube';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { serveDashboard } from './serve.ts';
import type { DashboardServer } from './server.ts';

let plane: ControlPlane;
let dashboard: DashboardServer;
const end = new AbortController();
/** Every request of the dashboard to the API server. */
const asked: string[] = [];

beforeAll(async () => {
  plane = await startControlPlane({ crds, controllers: false });
  const transport = handlerTransport((call: Request) => {
    asked.push(`${call.method} ${new URL(call.url).pathname}`);
    return plane.fetch(call);
  });
  const client = createClient({ transport, userAgent: 'test', clock: realClock });
  const cluster = { client, target: client, namespace: 'default', close: async () => undefined };
  dashboard = await serveDashboard(cluster, { random: seededRandom(1), signal: end.signal, port: 0 });
});
afterAll(async () => {
  await dashboard.close();
  end.abort(new Error('the test is over'));
  await plane.close();
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

/** `fetch` sets the Host header itself, so this uses `node:http`. */
const ask = (path: string, { host, method = 'GET' }: { host?: string; method?: string } = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const headers = host === undefined ? {} : { host };
    const call = request(new URL(dashboard.url), { path, method, headers, setHost: host === undefined }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      answer.once('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body }));
    });
    call.once('error', reject);
    call.end();
  });

const port = (): string => new URL(dashboard.url).port;

describe('access', () => {
  test('it listens on 127.0.0.1 only', () => {
    expect(dashboard.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
  });

  test.each(['evil.example', 'evil.example:PORT', '127.0.0.1', 'localhost.evil.example:PORT', '127.0.0.1:1', ''])(
    'a request with Host "%s" is refused, because of DNS rebinding',
    async (host) => {
      const { status, body } = await ask('/', { host: host.replace('PORT', port()) });
      expect(status).toBe(421);
      expect(body).not.toContain('<main');
    },
  );

  test.each(['127.0.0.1:PORT', 'localhost:PORT', 'LOCALHOST:PORT', '[::1]:PORT'])(
    'a request with Host %s is served',
    async (host) => {
      expect((await ask('/', { host: host.replace('PORT', port()) })).status).toBe(200);
    },
  );
});

describe('answers', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s is refused', async (method) => {
    const { status, headers } = await ask('/', { method });
    expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'GET, HEAD' });
  });

  test.each([
    '/nothing',
    '//evil.example/',
    '/machines/',
    '/machines/A',
    '/machines/a/b',
    '/machines/..%2f',
    '/live',
    '*',
  ])('%s is not found', async (path) => {
    expect((await ask(path)).status).toBe(404);
  });

  test('every answer has the security policy and forbids caching and embedding', async () => {
    for (const path of ['/', '/style.css', '/script.js', '/machines/m-0', '/nothing']) {
      const { headers } = await ask(path);
      expect(headers['content-security-policy'], path).toMatch(/^default-src 'none'; script-src 'self';/);
      expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|http/);
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  test('the page of an unknown machine says that it does not exist', async () => {
    const { status, body } = await ask('/machines/m-0');
    expect(status).toBe(200);
    expect(body).toContain('there is no machine m-0 in namespace default');
  });

  test('the page is complete without its script', async () => {
    const { body } = await ask('/');
    expect(body).toContain('Machines of namespace default');
    expect(body).not.toMatch(/\son\w+=|style="|javascript:/);
  });

  test('the dashboard sends only read requests', async () => {
    await ask('/');
    expect(asked.filter((line) => !line.startsWith('GET '))).toEqual([]);
  });
});

test('a change streams the changed sections and causes no request', async () => {
  const reader = (await fetch(new URL('/live/', dashboard.url))).body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const until = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(text)) text += (await reader?.read())?.value ?? '';
  };
  await until(/"id":"events"/);
  const before = asked.length;
  text = '';
  const client = createClient({ transport: handlerTransport(plane.fetch), userAgent: 'test', clock: realClock });
  await client.resource<Machine>(machines, 'default').create({
    metadata: { name: 'm-1', namespace: 'default' },
    spec: { class: { kind: 'MachineClass', name: 'small' } },
  });
  await until(/"id":"machines".*m-1/);
  expect(text).not.toContain('"id":"deployments"');
  expect(asked.slice(before)).toEqual([]);
  await reader?.cancel();
});

/** Starts a dashboard whose API requests pass through `fetch`, and opens its stream. */
async function another(fetchOf: (call: Request) => Promise<Response>) {
  const client = createClient({ transport: handlerTransport(fetchOf), userAgent: 'test', clock: realClock });
  const cluster = { client, target: client, namespace: 'default', close: async () => undefined };
  const stop = new AbortController();
  const served = await serveDashboard(cluster, { random: seededRandom(1), signal: stop.signal, port: 0 });
  const stream = (await fetch(new URL('/live/', served.url))).body?.pipeThrough(new TextDecoderStream()).getReader();
  onTestFinished(async () => {
    await stream?.cancel();
    await served.close();
    stop.abort(new Error('the test is over'));
  });
  let text = '';
  return {
    /** Reads the stream until the text after the last match matches the pattern. Returns the text before the end of the match. */
    async until(pattern: RegExp): Promise<string> {
      for (;;) {
        const found = pattern.exec(text);
        if (found) {
          const end = found.index + found[0].length;
          const read = text.slice(0, end);
          text = text.slice(end);
          return read;
        }
        const { done, value } = (await stream?.read()) ?? { done: true };
        if (done) throw new Error(`the stream has ended without ${pattern}`);
        text += value;
      }
    },
  };
}

const own = createClient({
  transport: handlerTransport((call) => plane.fetch(call)),
  userAgent: 'test',
  clock: realClock,
});

test('a kind that may not be read is named with its permission, also in its section; other kinds are shown', async () => {
  const refusal = (plural: string, scope: string) => ({
    ...{ kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403 },
    message: `${plural} is forbidden: User "eve" cannot list resource "${plural}" in API group "" ${scope}`,
  });
  const refused = new Map([
    ['/api/v1/nodes', refusal('nodes', 'at the cluster scope')],
    ['/api/v1/pods', refusal('pods', 'at the cluster scope')],
    ['/api/v1/namespaces/default/events', refusal('events', 'in the namespace "default"')],
    [
      '/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machinedeployments',
      refusal('machinedeployments', 'in the namespace "default"'),
    ],
  ]);
  const api = own.resource<Machine>(machines, 'default');
  await api.create({
    metadata: { name: 'm-2', namespace: 'default', labels: { node: 'n-2' }, finalizers: ['test/kept'] },
    spec: { class: { kind: 'MachineClass', name: 'small' } },
  });
  await api.delete('m-2');
  const page = await another((call) => {
    const status = refused.get(new URL(call.url).pathname);
    return status ? Promise.resolve(Response.json(status, { status: 403 })) : plane.fetch(call);
  });
  const first = await page.until(/may not be read: machinedeployments, events, nodes\./);
  expect(first.split('"id":"summary"').at(-1)).not.toMatch(/0 deployments|not read yet/);
  await page.until(/pods may not be read: needs get, list and watch of pods \(docs/);
  await api.patch('m-2', { type: 'merge', body: { metadata: { finalizers: null } } });
});

test('a class that may not be read is not reported as missing', async () => {
  const path = '/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machineclasses';
  const message = 'machineclasses is forbidden: User "eve" cannot list resource "machineclasses" in API group "" here';
  const status = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message };
  const deployments = own.resource<MachineDeployment>(machineDeployments, 'default');
  await deployments.create({
    metadata: { name: 'unclassed', namespace: 'default' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { pool: 'unclassed' } },
      template: {
        metadata: { labels: { pool: 'unclassed' } },
        spec: { class: { kind: 'MachineClass', name: 'unread' } },
      },
    },
  });
  const page = await another((call) =>
    new URL(call.url).pathname === path ? Promise.resolve(Response.json(status, { status: 403 })) : plane.fetch(call),
  );
  const drawn = await page.until(
    /^(?=[\s\S]*may not be read: machineclasses\.)(?=[\s\S]*"id":"deployments"[^\n]*unclassed)[\s\S]*$/,
  );
  await deployments.delete('unclassed');
  expect(drawn).not.toMatch(/there is no MachineClass/);
});

test('the page uses the published flags and lists the assumed ones', async () => {
  await own.resource<Lease>(leases, 'default').create({
    metadata: {
      ...{ name: 'machine-controller', namespace: 'default' },
      annotations: { 'holder-settings': 'me {"machine-creation-timeout":3600000}' },
    },
    spec: { holderIdentity: 'me' },
  } as never);
  const page = await another(plane.fetch);
  const text = await page.until(/Flags: of the machine controller: --machine-creation-timeout is 1h/);
  expect(text).toContain(
    'Flags: the manager runs with its default flags: Lease default/machine-controller-manager does not exist',
  );
});

test('without an API server the page shows since when it is outdated, and continues after a reconnect', async () => {
  let gone: AbortController | undefined = new AbortController();
  const server = gone;
  const page = await another((call) =>
    gone === undefined || !gone.signal.aborted
      ? plane.fetch(gone ? new Request(call, { signal: AbortSignal.any([call.signal, server.signal]) }) : call)
      : Promise.reject(new Error('connect ECONNREFUSED')),
  );
  await page.until(/"id":"events"/);
  gone.abort(new Error('the server has gone'));
  await page.until(/outdated since \d{4}-[\d:T-]+Z: [^.]*machines/);
  await page.until(/The last answer: GET \S+: no answer: /);
  await own.resource<Machine>(machines, 'default').create({
    metadata: { name: 'm-3', namespace: 'default' },
    spec: { class: { kind: 'MachineClass', name: 'small' } },
  });
  gone = undefined;
  const current = await page.until(/0 drains\.<\/p>/);
  if (!current.includes('m-3')) await page.until(/m-3/);
});

test('a port in use is an error', async () => {
  const client = createClient({ transport: handlerTransport(plane.fetch), userAgent: 'test', clock: realClock });
  const cluster = { client, target: client, namespace: 'default', close: async () => undefined };
  const taken = serveDashboard(cluster, { random: seededRandom(1), signal: end.signal, port: Number(port()) });
  await expect(taken).rejects.toThrow(/^--port \d+: cannot listen: .*EADDRINUSE/);
});
