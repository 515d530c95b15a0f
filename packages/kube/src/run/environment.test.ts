import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { issueAuthority, issueServing } from '../admission/self-made/issue.ts';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import { realClock } from '../clock/clock.ts';
import { ConfigError } from '../credentials/cluster-config.ts';
import { configMaps, nodes } from '../types/core.ts';
import { leases } from '../types/groups.ts';
import type { BinaryDefinition } from './definition.ts';
import type { Host } from './process/host.ts';
import type { MemoryUse } from './process/memory.ts';
import { runBinary } from './run-binary.ts';
import type { Unit } from './units.ts';

let plane: ControlPlane;
let folder: string;
beforeAll(async () => {
  plane = await startControlPlane({ controllers: false });
  folder = await mkdtemp(join(tmpdir(), 'environment-'));
});
afterAll(async () => {
  await plane.close();
  await rm(folder, { recursive: true });
});

const admin = () => createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });

async function door({
  user,
  dateOffsetMs = 0,
  isKnown = () => true,
}: {
  user?: string;
  dateOffsetMs?: number;
  isKnown?: () => boolean;
}): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const headers = new Headers(incoming.headers as Record<string, string>);
    if (user !== undefined) headers.set('impersonate-user', user);
    if (!isKnown()) headers.set('authorization', 'Bearer nobody');
    const body = chunks.length > 0 ? Buffer.concat(chunks) : null;
    const answer = await plane.fetch(
      new Request(`http://plane${incoming.url}`, { method: incoming.method ?? 'GET', headers, body }),
    );
    const date = new Date(Date.now() + dateOffsetMs).toUTCString();
    outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), date });
    outgoing.flushHeaders();
    const parts = answer.body?.getReader();
    outgoing.on('close', () => void parts?.cancel());
    for (let part = await parts?.read(); part !== undefined && !part.done; part = await parts?.read())
      outgoing.write(part.value);
    outgoing.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const path = join(folder, `kubeconfig-${(server.address() as AddressInfo).port}`);
  const entry = { clusters: [{ name: 'c', cluster: { server: url } }], users: [{ name: 'c', user: {} }] };
  await writeFile(
    path,
    JSON.stringify({
      ...entry,
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
      'current-context': 'c',
    }),
  );
  return path;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

type Demo = BinaryDefinition<Record<never, never>>;
const demo = (change: Partial<Demo> = {}): Demo => ({
  name: 'demo',
  version: '2.0.0',
  description: 'A demo.',
  defaults: { port: 10_258, concurrency: 10, controllers: [] },
  flags: {},
  units: () => [],
  ...change,
});

async function start(definition: Demo, flags: readonly string[]) {
  const said: string[] = [];
  const ready = Promise.withResolvers<string>();
  let stop: (reason: string) => void = () => undefined;
  let collected: (use: MemoryUse) => void = () => undefined;
  const host: Host = {
    argv: ['--port=0', '--bind-address=127.0.0.1', '--log-level=silent', ...flags],
    env: {},
    clock: realClock,
    random: seededRandom(3),
    identity: `me-${crypto.randomUUID()}`,
    print: (line) => ready.resolve(line.replace('ready ', '')),
    printError: (line) => said.push(line),
    onStopRequest: (callback) => {
      stop = callback;
    },
    onCollection: (callback) => {
      collected = callback;
      return () => undefined;
    },
    exit: () => undefined,
  };
  const exit = runBinary(definition, host);
  onTestFinished(async () => {
    stop('the test ends');
    await exit;
  });
  const address = await Promise.race([ready.promise, exit.then(() => Promise.reject(new Error(said.join('; '))))]);
  const text = async (path: string): Promise<string> => (await fetch(address + path)).text();
  const metric = async (line: string): Promise<void> => {
    while (!(await text('/metrics')).includes(line)) await turn();
  };
  return { text, metric, said, exit, collected: (use: MemoryUse) => collected(use) };
}

const role = async (name: string, rules: readonly object[]): Promise<void> => {
  const RBAC = '/apis/rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';
  await admin().request('POST', `${RBAC}/clusterroles`, {
    body: { apiVersion: `${apiGroup}/v1`, kind: 'ClusterRole', metadata: { name }, rules },
  });
  await admin().request('POST', `${RBAC}/clusterrolebindings`, {
    body: {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup, kind: 'ClusterRole', name },
      subjects: [{ apiGroup, kind: 'User', name }],
    },
  });
};

test('insufficient roles: verb and resource are logged once, the rest continues, and the warning ends when the roles are corrected', async () => {
  const everything = { apiGroups: ['*'], resources: ['configmaps', 'events', 'leases'], verbs: ['*'] };
  await role('small', [everything, { nonResourceURLs: ['*'], verbs: ['get'] }]);
  const kubeconfig = await door({ user: 'small' });
  const works = Promise.withResolvers<void>();
  const again = Promise.withResolvers<void>();
  const mended = Promise.withResolvers<void>();
  const definition = demo({
    units: ({ control }): Unit[] => [
      {
        name: 'needs-nodes',
        needs: [],
        informers: [],
        run: async () => {
          for (let time = 0; time < 3; time++)
            await control
              .resource(nodes)
              .list()
              .catch(() => undefined);
          again.resolve();
          await mended.promise;
          await control.resource(nodes).list();
        },
      },
      {
        name: 'needs-config',
        needs: [],
        informers: [],
        run: async () => {
          await control.resource(configMaps, 'default').list();
          works.resolve();
        },
      },
    ],
  });
  const { metric, text } = await start(definition, [`--target-kubeconfig=${kubeconfig}`, '--leader-elect=false']);
  await Promise.all([works.promise, again.promise]);
  const series = (await text('/metrics'))
    .split('\n')
    .filter((line) => /^(runtime_warning|rest_client_forbidden)/.test(line));
  expect(series).toEqual([
    'runtime_warning{kind="forbidden",subject="control: list nodes"} 1',
    'rest_client_forbidden_requests_total{cluster="control",verb="list",resource="nodes",group=""} 3',
  ]);
  expect(await text('/readyz?verbose')).toContain(
    '[+]environment warnings (details in the log): forbidden (control: list nodes)',
  );
  await role('small-more', []);
  await admin().request('PATCH', '/apis/rbac.authorization.k8s.io/v1/clusterroles/small', {
    body: {
      rules: [
        everything,
        { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
        { nonResourceURLs: ['*'], verbs: ['get'] },
      ],
    },
    contentType: 'application/merge-patch+json',
  });
  mended.resolve();
  await metric('code="200",method="GET"');
  while ((await text('/metrics')).includes('kind="forbidden"')) await turn();
});

test('a process without permission to write the Lease logs the missing rule, is not ready, and leads after the rule is granted', async () => {
  const rules = (verbs: readonly string[]) => [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs },
    { nonResourceURLs: ['*'], verbs: ['get'] },
  ];
  await role('looker', rules(['get', 'watch']));
  const working = Promise.withResolvers<void>();
  const units = (): Unit[] => {
    working.resolve();
    return [];
  };
  const definition = demo({ name: 'looker', units });
  const { metric, text } = await start(definition, [
    `--target-kubeconfig=${await door({ user: 'looker' })}`,
    '--leader-elect-retry-period=50ms',
  ]);
  await metric('runtime_warning{kind="forbidden",subject="control: create leases.coordination.k8s.io"} 1');
  const cannot =
    'cannot become the leader: this process does not have the permission to create leases.coordination.k8s.io in namespace default';
  while (!(await text('/readyz?verbose')).includes(cannot)) await turn();
  expect(await text('/readyz')).toContain('[-]leader-election');
  await admin().request('PATCH', '/apis/rbac.authorization.k8s.io/v1/clusterroles/looker', {
    body: { rules: rules(['*']) },
    contentType: 'application/merge-patch+json',
  });
  await working.promise;
  expect(await text('/readyz?verbose')).toContain('[+]leader-election leading');
});

test('a process whose credentials become invalid loses the Lease, and its last line names the credentials to replace', async () => {
  let isKnown = true;
  const working = Promise.withResolvers<void>();
  const units = (): Unit[] => {
    working.resolve();
    return [];
  };
  const kubeconfig = await door({ isKnown: () => isKnown });
  const timings = ['lease-duration=2s', 'renew-deadline=1s', 'retry-period=20ms'];
  const { said, exit } = await start(demo({ name: 'stranger', units }), [
    `--target-kubeconfig=${kubeconfig}`,
    ...timings.map((timing) => `--leader-elect-${timing}`),
  ]);
  await working.promise;
  isKnown = false;
  expect(await exit).toBe(1);
  expect(said).toEqual([
    expect.stringMatching(
      /^stranger: Lease lost: .* \(PUT .*: Unauthorized\); the control API server refuses the credentials of .*kubeconfig.* \(401\); use a/,
    ),
  ]);
});

test('a certificate of a service is a warning and a metric shortly before it expires, until it is renewed', async () => {
  const kubeconfig = await door({});
  const pairUntil = async (days: number) => {
    const validity = { from: new Date(Date.now() - 86_400_000), until: new Date(Date.now() + days * 86_400_000) };
    return issueServing(await issueAuthority(validity), ['localhost'], validity);
  };
  const soon = await pairUntil(1);
  let renew: () => Promise<void> = () => Promise.reject(new Error('it does not serve yet'));
  const definition = demo({
    serve: async ({ serving }) => {
      const served = serving('webhook certificate');
      served.use(soon);
      renew = async () => served.use(await pairUntil(90));
      return async () => undefined;
    },
  });
  const { metric, text } = await start(definition, [`--target-kubeconfig=${kubeconfig}`, '--leader-elect=false']);
  await metric('runtime_warning{kind="certificate",subject="webhook certificate"} 1');
  expect(await text('/metrics')).toContain('certificate_expiration_timestamp_seconds{what="webhook certificate"}');
  await renew();
  while ((await text('/metrics')).includes('kind="certificate"')) await turn();
});

test('a difference to the clock of the API server is a warning and a metric', async () => {
  const kubeconfig = await door({ dateOffsetMs: 120_000 });
  const { metric, text } = await start(demo(), [`--target-kubeconfig=${kubeconfig}`, '--leader-elect=false']);
  await metric('runtime_warning{kind="clock-skew",subject="control"} 1');
  const [, seconds] = /apiserver_clock_skew_seconds\{cluster="control"\} (\S+)/.exec(await text('/metrics')) ?? [];
  expect(Number(seconds)).toBeGreaterThan(115);
  expect(Number(seconds)).toBeLessThan(125);
});

test('missing CRDs, older CRDs and CRDs without status are warnings, until they match', async () => {
  const schema = (fields: Record<string, object>) => ({
    type: 'object',
    properties: { spec: { type: 'object', properties: fields } },
  });
  const crd = (fields: Record<string, object>, subresources: { readonly status?: object } = { status: {} }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.org' },
    spec: {
      group: 'example.org',
      scope: 'Namespaced',
      names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema(fields) }, subresources },
      ],
    },
  });
  const text = { type: 'string' };
  const definition = demo({ crds: [crd({ old: text, fresh: text })] });
  const kubeconfig = await door({});
  const flags = [`--target-kubeconfig=${kubeconfig}`, '--leader-elect=false'];
  const line = 'runtime_warning{kind="crd",subject="things.example.org"} 1';
  await (await start(definition, flags)).metric(line);
  await admin().request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    body: crd({ old: text }),
  });
  await (await start(definition, flags)).metric(line);
  const put = (body: object) =>
    admin().request('PUT', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.org', { body });
  await put(crd({ old: text, fresh: text }, {}));
  await (await start(definition, flags)).metric(line);
  await put(crd({ old: text, fresh: text }));
  const own = await start(definition, flags);
  await own.metric('code="200",method="GET"');
  expect(await own.text('/metrics')).not.toContain('runtime_warning{kind="crd"');
});

test('a standby logs that another version leads', async () => {
  const kubeconfig = await door({});
  const flags = [`--target-kubeconfig=${kubeconfig}`];
  await start(demo({ name: 'pair', version: '1.0.0' }), flags);
  const client = admin().resource(leases, 'default');
  let lease = await client.get('pair').catch(() => undefined);
  while (lease === undefined) {
    await turn();
    lease = await client.get('pair').catch(() => undefined);
  }
  expect(lease.metadata.annotations?.['holder-version']).toBe(`1.0.0 ${lease.spec?.holderIdentity}`);
  const second = await start(demo({ name: 'pair', version: '2.0.0' }), flags);
  await second.metric('runtime_warning{kind="version",subject="pair"} 1');
});

test('the last line of the log contains the reason of the end, also for a programming error', async () => {
  const kubeconfig = await door({});
  const said: string[] = [];
  const host: Host = {
    argv: [
      '--port=0',
      '--bind-address=127.0.0.1',
      '--log-level=silent',
      `--target-kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
    ],
    env: {},
    clock: realClock,
    random: seededRandom(3),
    identity: 'me',
    print: (line) => said.push(line),
    printError: (line) => said.push(line),
    onStopRequest: () => undefined,
    exit: () => undefined,
  };
  const broken = demo({ units: () => Promise.reject(new Error('no units today')) });
  expect(await runBinary(broken, host)).toBe(1);
  expect(said.at(-1)).toBe('demo: no units today');
  const faulty = demo({
    check: () => {
      throw new TypeError('x is not a function');
    },
  });
  expect(await runBinary(faulty, host)).toBe(1);
  expect(said.at(-1)).toBe('demo: unexpected error in this program: x is not a function');
  const mistaken = demo({ check: () => ['--a and --b exclude each other'] });
  expect(await runBinary(mistaken, host)).toBe(1);
  expect(said.at(-1)).toBe('demo: --a and --b exclude each other');
  expect(new ConfigError('x').message).toBe('x');
});

test('nearly exhausted memory is a warning, and ends the process before V8 aborts it', async () => {
  const kubeconfig = await door({});
  const t = await start(demo(), [`--target-kubeconfig=${kubeconfig}`, '--leader-elect=false']);
  const MiB = 1_048_576;
  const warnings = async () =>
    (await t.text('/metrics')).split('\n').filter((line) => line.startsWith('runtime_warning{'));
  const use = { heap: 50 * MiB, heapLimit: 256 * MiB, resident: 100 * MiB, residentLimit: 512 * MiB };
  t.collected(use);
  expect(await warnings()).toEqual([]);
  t.collected({ ...use, heap: 192 * MiB, resident: 384 * MiB });
  const [heap, container] = ['heap', 'container'].map(
    (subject) => `runtime_warning{kind="memory",subject="${subject}"} 1`,
  );
  expect(await warnings()).toEqual([heap, container]);
  t.collected({ ...use, heap: 170 * MiB, resident: 100 * MiB });
  expect(await warnings()).toEqual([heap]);
  t.collected({ ...use, residentLimit: undefined });
  expect(await warnings()).toEqual([]);
  t.collected({ ...use, heap: 230 * MiB });
  expect(t.said).toEqual([]);
  t.collected({ ...use, heap: 231 * MiB });
  expect(await t.exit).toBe(1);
  expect(t.said).toEqual([
    'demo: the memory is full: the process uses 231 of 256 MiB of its heap; increase the memory of the container (resources.limits.memory)',
  ]);
});
