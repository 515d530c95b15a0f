import { request } from 'node:http';
import {
  crds,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import type { ControllerRow, DeploymentDetail, Frame, MachineDetail } from '@mcm/dashboard';
import {
  createClient,
  type EventObject,
  events as eventResource,
  handlerTransport,
  type Lease,
  leases,
  realClock,
  seededRandom,
} from '@mcm/kube';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { serveDashboard } from './serve.ts';
import type { DashboardServer } from './server.ts';

let plane: ControlPlane;
let dashboard: DashboardServer;
const end = new AbortController();
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

/** The test uses `node:http`, because `fetch` does not allow another Host header. */
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
  test('the dashboard listens on 127.0.0.1 only', () => {
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
    '/machines/A/b',
    '/machines/a/b/c',
    '/machines/..%2f/a',
    '/api/machines/default',
    '/api/secrets/default/a',
    '/api/yaml/secret/default/a',
    '/live/',
    '*',
  ])('%s is not found', async (path) => {
    expect((await ask(path)).status).toBe(404);
  });

  test('every answer has the security policy and forbids caching and embedding', async () => {
    for (const path of ['/', '/style.css', '/script.js', '/machines/default/m-0', '/nothing']) {
      const { headers } = await ask(path);
      expect(headers['content-security-policy'], path).toMatch(/^default-src 'none'; script-src 'self';/);
      expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|http/);
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  test('the details of an unknown machine say that it does not exist', async () => {
    const { status, body } = await ask('/api/machines/default/m-0');
    const detail = JSON.parse(body) as MachineDetail;
    expect({ status, exists: detail.exists }).toEqual({ status: 200, exists: false });
    expect(detail.explain.join()).toContain('there is no machine m-0 in namespace default');
  });

  test('the document has no inline script and no inline style', async () => {
    const { body } = await ask('/machines/default/m-0');
    expect(body).toContain('src="/script.js"');
    expect(body).not.toMatch(/\son\w+=|style="|javascript:|<script>/);
  });

  test('the dashboard sends only read requests', async () => {
    await ask('/');
    expect(asked.filter((line) => !line.startsWith('GET '))).toEqual([]);
  });
});

/** Starts a dashboard whose requests to the API server pass through `fetchOf`, and reads its event stream. */
async function another(fetchOf: (call: Request) => Promise<Response>, allNamespaces = false) {
  const client = createClient({ transport: handlerTransport(fetchOf), userAgent: 'test', clock: realClock });
  const cluster = { client, target: client, namespace: 'default', close: async () => undefined };
  const stop = new AbortController();
  const options = { random: seededRandom(1), signal: stop.signal, port: 0, allNamespaces };
  const served = await serveDashboard(cluster, options);
  const stream = (await fetch(new URL('/live', served.url))).body?.pipeThrough(new TextDecoderStream()).getReader();
  onTestFinished(async () => {
    await stream?.cancel();
    await served.close();
    stop.abort(new Error('the test is over'));
  });
  let text = '';
  const frames: Frame[] = [];
  const next = async (): Promise<void> => {
    const { done, value } = (await stream?.read()) ?? { done: true };
    if (done) throw new Error(`the stream has ended after ${JSON.stringify(frames.at(-1))}`);
    text += value;
    const messages = text.split('\n\n');
    text = messages.pop() ?? '';
    for (const message of messages) {
      if (message.startsWith('data: ')) frames.push(JSON.parse(message.slice(6)) as Frame);
    }
  };
  return {
    url: served.url,
    frames,
    /** Reads messages of the dashboard until one message matches. */
    async until(wanted: (frame: Frame) => boolean): Promise<Frame> {
      for (;;) {
        const at = frames.findIndex(wanted);
        if (at >= 0) return frames.splice(0, at + 1).at(-1) as Frame;
        await next();
      }
    },
  };
}

const putName = (name: string) => (frame: Frame) =>
  frame.tables.machines?.put?.some((row) => row.name === name) ?? false;
const machine = (name: string, more: object = {}) => ({
  metadata: { name, namespace: 'default', ...more },
  spec: { class: { kind: 'MachineClass', name: 'small' } },
});

test('a change sends only the changed row, and causes no request', async () => {
  const api = own.resource<Machine>(machines, 'default');
  await Promise.all(Array.from({ length: 50 }, (_, index) => api.create(machine(`many-${index}`))));
  let sent = 0;
  const page = await another((call) => {
    if (call.url.includes('/machines')) sent += 1;
    return plane.fetch(call);
  });
  const names = new Set<string>();
  await page.until((frame) => {
    for (const { name } of frame.tables.machines?.put ?? []) names.add(name);
    return names.has('many-0') && names.has('many-49');
  });
  const before = sent;
  const status = { currentStatus: { phase: 'Failed' } };
  await api.patch('many-7', { type: 'merge', body: { status } }, { subresource: 'status' });
  const frame = await page.until(putName('many-7'));
  expect(frame.first).toBeUndefined();
  expect(frame.tables.machines?.put?.map(({ name, level }) => [name, level])).toEqual([['many-7', 'failed']]);
  expect(JSON.stringify(frame).length).toBeLessThan(1_000);
  expect(sent).toBe(before);
  await api.delete('many-7');
  await page.until(({ tables }) => tables.machines?.drop?.includes('default/many-7') ?? false);
  await Promise.all(Array.from({ length: 50 }, (_, index) => api.delete(`many-${index}`).catch(() => undefined)));
});

test('a browser that connects later gets all rows, and the history before its connection', async () => {
  const api = own.resource<Machine>(machines, 'default');
  await api.create(machine('past'));
  const page = await another(plane.fetch);
  await page.until((frame) => putName('past')(frame));
  const status = { currentStatus: { phase: 'Failed' }, lastOperation: { description: 'disk broke', state: 'Failed' } };
  await api.patch('past', { type: 'merge', body: { status } }, { subresource: 'status' });
  await page.until((frame) => frame.tables.machines?.put?.some(({ why }) => why.includes('disk broke')) ?? false);
  await api.delete('past');
  await page.until(({ tables }) => tables.machines?.drop?.includes('default/past') ?? false);
  const detail = (await (await fetch(new URL('/api/machines/default/past', page.url))).json()) as MachineDetail;
  expect({ exists: detail.exists, phase: detail.row?.phase }).toEqual({ exists: false, phase: 'Failed' });
  expect(detail.life?.segments.map(({ level }) => level)).toEqual(['blocked', 'failed', 'failed']);
  expect(detail.life?.gone).toBeGreaterThan(0);
});

test('the page of a machine that was deleted at once names its VM and its successor', async () => {
  const sets = own.resource<MachineSet>(machineSets, 'default');
  const owner = (kind: string, name: string, uid: string) => [
    { apiVersion: 'machine.sapcloud.io/v1alpha1', kind, name, uid, controller: true },
  ];
  const template = { metadata: { labels: { name: 'pair' } }, spec: machine('pair').spec };
  const set = await sets.create({
    metadata: { name: 'pair-1', namespace: 'default', ownerReferences: owner('MachineDeployment', 'pair', 'd') },
    spec: { replicas: 1, selector: { matchLabels: { name: 'pair' } }, template },
  });
  const page = await another(plane.fetch);
  const ownerReferences = owner('MachineSet', 'pair-1', set.metadata.uid);
  const api = own.resource<Machine>(machines, 'default');
  for (const name of ['pair-old', 'pair-new']) {
    const { spec, metadata } = machine(name, { ownerReferences });
    await api.create({ metadata, spec: { ...spec, providerID: `local:///${name}` } });
    await page.until(putName(name));
  }
  await api.delete('pair-old');
  await page.until(({ tables }) => tables.machines?.drop?.includes('default/pair-old') ?? false);
  const detail = (await (await fetch(new URL('/api/machines/default/pair-old', page.url))).json()) as MachineDetail;
  expect([detail.exists, detail.providerID, detail.successor]).toEqual([
    false,
    'local:///pair-old',
    'default/pair-new',
  ]);
  await api.delete('pair-new');
  await sets.delete('pair-1');
});

test('all namespaces are shown if that is requested, else only one', async () => {
  const namespaces = '/api/v1/namespaces';
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
  await plane.fetch(
    new Request(`http://x${namespaces}`, { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
  );
  const api = own.resource<Machine>(machines, 'other');
  await api.create({ ...machine('elsewhere'), metadata: { name: 'elsewhere', namespace: 'other' } });
  const all = await another(plane.fetch, true);
  await all.until(putName('elsewhere'));
  const one = await another(plane.fetch);
  await one.until(({ gaps }) => gaps?.length === 0);
  const later = await another(plane.fetch);
  const first = await later.until(({ first: is }) => is !== undefined);
  expect(first.first?.namespace).toBe('default');
  expect([...one.frames, ...later.frames].some(putName('elsewhere'))).toBe(false);
  await api.delete('elsewhere');
});

test('events of pods are not shown', async () => {
  const events = own.resource<EventObject>(eventResource, 'default');
  const event = (name: string, kind: string) =>
    events.create({
      metadata: { name, namespace: 'default' },
      involvedObject: { kind, name: 'x', namespace: 'default' },
      reason: name,
      message: name,
      type: 'Warning',
    } as never);
  const page = await another(plane.fetch);
  await event('scheduling', 'Pod');
  await event('replicas', 'ReplicaSet');
  await event('disk', 'Machine');
  const seen: string[] = [];
  await page.until(({ tables }) => {
    seen.push(...(tables.events?.put ?? []).map(({ reason }) => reason));
    return seen.includes('disk');
  });
  expect(seen.filter((reason) => reason !== 'disk')).toEqual([]);
});

const own = createClient({
  transport: handlerTransport((call) => plane.fetch(call)),
  userAgent: 'test',
  clock: realClock,
});

const gapsMatch = (pattern: RegExp) => (frame: Frame) => frame.gaps?.some((gap) => pattern.test(gap)) ?? false;

const refusal = (plural: string, scope: string) => ({
  kind: 'Status',
  status: 'Failure',
  reason: 'Forbidden',
  code: 403,
  message: `${plural} is forbidden: User "eve" cannot list resource "${plural}" in API group "" ${scope}`,
});

test('a kind that the user cannot read is shown with the missing permission, and other kinds are shown normally', async () => {
  const refused = new Map([
    ['/api/v1/nodes', refusal('nodes', 'at the cluster scope')],
    ['/api/v1/pods', refusal('pods', 'at the cluster scope')],
    ['/api/v1/namespaces/default/events', refusal('events', 'in the namespace "default"')],
  ]);
  const api = own.resource<Machine>(machines, 'default');
  await api.create(machine('m-2', { labels: { node: 'n-2' }, finalizers: ['test/kept'] }));
  await api.delete('m-2');
  const page = await another((call) => {
    const status = refused.get(new URL(call.url).pathname);
    return status ? Promise.resolve(Response.json(status, { status: 403 })) : plane.fetch(call);
  });
  const isNamed = gapsMatch(/^No permission to read nodes: needs .*nodes/);
  await page.until((frame) => gapsMatch(/^No permission to read events: needs .*events/)(frame) && isNamed(frame));
  await page.until(
    ({ tables }) =>
      tables.drains?.put?.some(({ blockers }) => blockers.join().includes('no permission to read pods: needs')) ??
      false,
  );
  await api.patch('m-2', { type: 'merge', body: { metadata: { finalizers: null } } });
});

test('a class that the user cannot read is not reported as missing', async () => {
  const path = '/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machineclasses';
  const api = own.resource<Machine>(machines, 'default');
  await api.create(machine('unclassed'));
  const whyOf = (page: Awaited<ReturnType<typeof another>>) =>
    page.until((frame) => putName('unclassed')(frame) && frame.gaps === undefined);
  const page = await another((call) =>
    new URL(call.url).pathname === path
      ? Promise.resolve(Response.json(refusal('machineclasses', 'here'), { status: 403 }))
      : plane.fetch(call),
  );
  await page.until(gapsMatch(/^No permission to read machineclasses/));
  await api.patch('unclassed', { type: 'merge', body: { metadata: { labels: { a: 'b', node: 'n' } } } });
  const frame = await whyOf(page);
  expect(frame.tables.machines?.put?.map(({ why }) => why).join()).not.toContain('does not exist');
  await api.delete('unclassed');
});

test('without an API server the page shows since when it is outdated, and continues after a reconnect', async () => {
  let gone: AbortController | undefined = new AbortController();
  const server = gone;
  const page = await another((call) =>
    gone === undefined || !gone.signal.aborted
      ? plane.fetch(gone ? new Request(call, { signal: AbortSignal.any([call.signal, server.signal]) }) : call)
      : Promise.reject(new Error('connect ECONNREFUSED')),
  );
  await page.until(({ gaps }) => gaps?.length === 0);
  gone.abort(new Error('the server has gone'));
  const outdated = await page.until(gapsMatch(/^No connection to the API server: .*machines.* as of \d{4}-[\d:T-]+Z/));
  expect(outdated.gaps?.join()).toMatch(/The most recent error of the connection: GET \S+: no response: /);
  await own.resource<Machine>(machines, 'default').create(machine('m-3'));
  gone = undefined;
  const seen = { row: false, gaps: false };
  await page.until((frame) => {
    seen.row ||= putName('m-3')(frame);
    seen.gaps ||= frame.gaps?.length === 0;
    return seen.row && seen.gaps;
  });
});

test('a stopped manager is shown with its effects, and no page announces its next step', async () => {
  const renewTime = new Date(Date.now() - 60_000).toISOString().replace('Z', '000Z');
  const name = 'machine-controller-manager';
  await own.resource<Lease>(leases, 'default').create({
    metadata: { name, namespace: 'default' },
    spec: { holderIdentity: 'me', leaseDurationSeconds: 10, renewTime },
  } as never);
  const labels = { pool: 'halted' };
  const template = { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } };
  const halted = { metadata: { name: 'halted' }, spec: { replicas: 2, selector: { matchLabels: labels }, template } };
  await own.resource<MachineDeployment>(machineDeployments, 'default').create(halted);
  const page = await another(plane.fetch);
  const rows = new Map<string, ControllerRow>();
  let isBlocked = false;
  await page.until(({ tables }) => {
    for (const each of tables.controllers?.put ?? []) rows.set(each.name, each);
    isBlocked ||= tables.deployments?.put?.some((each) => each.name === 'halted' && each.state === 'blocked') ?? false;
    return isBlocked && rows.has(name);
  });
  expect(rows.get(name)).toMatchObject({
    state: 'stopped',
    level: 'failed',
    holder: 'me',
    since: Date.parse(renewTime.replace('000Z', 'Z')),
    why: `the leader me does not renew Lease default/${name}`,
    effects: expect.arrayContaining(['mcm replaces no failed or deleted machine']),
  });
  expect(rows.get('machine-controller')).toMatchObject({
    state: 'unknown',
    level: 'leaving',
    why: 'the Lease of the controller does not exist',
  });
  const answer = await fetch(new URL('/api/rollouts/default/halted', page.url));
  const detail = (await answer.json()) as DeploymentDetail;
  expect(detail.next).toBe(`no step, because ${name} is not working`);
  expect(detail.explain).toContain('Controllers that are not working:');
  await own.resource<MachineDeployment>(machineDeployments, 'default').delete('halted');
});

test('a port in use is an error', async () => {
  const client = createClient({ transport: handlerTransport(plane.fetch), userAgent: 'test', clock: realClock });
  const cluster = { client, target: client, namespace: 'default', close: async () => undefined };
  const taken = serveDashboard(cluster, { random: seededRandom(1), signal: end.signal, port: Number(port()) });
  await expect(taken).rejects.toThrow(/^--port \d+: cannot listen: .*EADDRINUSE/);
});
