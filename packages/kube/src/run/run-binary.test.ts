import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import { realClock } from '../clock/clock.ts';
import { ConfigError } from '../credentials/cluster-config.ts';
import { holderSettings } from '../election/record.ts';
import { integerFlag } from '../flags/flag.ts';
import { createInformer } from '../informer/create-informer.ts';
import { configMaps, events } from '../types/core.ts';
import { leases } from '../types/groups.ts';
import { chooseSources } from './cluster/clusters.ts';
import type { BinaryContext, BinaryDefinition } from './definition.ts';
import type { Host } from './process/host.ts';
import { runBinary } from './run-binary.ts';
import type { Unit } from './units.ts';

const flags = {
  'safety-up': integerFlag({ min: 0, default: 2, help: 'h' }),
  'safety-down': integerFlag({ min: 0, default: 1, help: 'h' }),
};
type Demo = BinaryDefinition<typeof flags>;

let plane: ControlPlane;
let folder: string;
let kubeconfig: string;
const requests: string[] = [];
beforeAll(async () => {
  plane = await startControlPlane({
    port: 0,
    controllers: false,
    requestLog: ({ method, path, userAgent }) => requests.push(`${userAgent}: ${method} ${path.split('?', 1)[0]}`),
  });
  folder = await mkdtemp(join(tmpdir(), 'run-binary '));
  kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, plane.kubeconfig());
});
beforeEach(() => {
  requests.length = 0;
});
afterAll(async () => {
  await plane.close();
  await rm(folder, { recursive: true });
});

const client = () => createClient({ transport: plane.transport, userAgent: 'test', clock: realClock });

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function fakeHost(argv: readonly string[], identity = 'me') {
  const printed: string[] = [];
  const errors: string[] = [];
  const exits: number[] = [];
  let stop: ((reason: string) => void) | undefined;
  const ready = Promise.withResolvers<string>();
  /** The promise rejects if the binary ends first. */
  const readyOr = (exit: Promise<number>): Promise<string> =>
    Promise.race([ready.promise, exit.then((code) => Promise.reject(new Error(`exit ${code}: ${errors.join()}`)))]);
  const host: Host = {
    argv: ['--port=0', '--bind-address=127.0.0.1', '--log-level=silent', ...argv],
    env: {},
    clock: realClock,
    random: seededRandom(3),
    identity,
    print: (line) => {
      printed.push(line);
      if (line.startsWith('ready ')) ready.resolve(line.slice('ready '.length));
    },
    printError: (line) => errors.push(line),
    onStopRequest: (callback) => {
      stop = callback;
    },
    exit: (code) => exits.push(code),
  };
  return { host, printed, errors, exits, readyOr, stop: (reason = 'SIGTERM') => stop?.(reason) };
}

const untilAbort = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

function demo(change: Partial<Demo> = {}) {
  const began = Promise.withResolvers<BinaryContext<typeof flags>>();
  const definition: Demo = {
    name: 'demo',
    version: '1.2.3',
    description: 'A demo.',
    defaults: { port: 10_258, concurrency: 10, controllers: ['a', 'b'] },
    flags,
    metricsPrefix: 'mcm_',
    units: (context): Unit[] => [
      {
        name: 'only',
        needs: [{ client: context.control, definition: configMaps }],
        informers: [],
        run: async (signal) => {
          began.resolve(context);
          await untilAbort(signal);
          context.recorder.event(
            {
              apiVersion: 'v1',
              kind: 'ConfigMap',
              metadata: { name: 'c', namespace: 'default', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
            },
            'Normal',
            'Stopped',
            'the last words',
          );
        },
      },
    ],
    ...change,
  };
  return { definition, began: began.promise };
}

describe('a binary', () => {
  test('with --observe-only a binary works without a lease, starts no services, and sends no write', async () => {
    let served = 0;
    const { definition, began } = demo({
      serve: () => {
        served += 1;
        return Promise.resolve(undefined);
      },
      leaseName: 'observer',
    });
    const t = fakeHost([`--target-kubeconfig=${kubeconfig}`, '--observe-only']);
    const exit = runBinary(definition, t.host);
    const address = await t.readyOr(exit);
    const { control, observe } = await began;
    expect(observe).toBeDefined();
    await expect(
      control.resource(configMaps, 'default').create({ metadata: { name: 'never', namespace: 'default' } }),
    ).rejects.toThrow('--observe-only');
    expect(await (await fetch(`${address}/readyz?verbose`)).text()).toContain(
      'leader-election observing without a Lease',
    );
    const metrics = await (await fetch(`${address}/metrics`)).text();
    expect(metrics).toContain('mcm_observe_decisions_total{what="create configmaps",outcome="wanted"} 1');
    t.stop();
    expect(await exit).toBe(0);
    expect(served).toBe(0);
    expect(requests.filter((line) => !/: GET /.test(line))).toEqual([]);
    await expect(client().resource(leases, 'default').get('observer')).rejects.toThrow('not found');
  });

  test('an invalid own setting ends the process with its name, before any request', async () => {
    const wrong = demo({ configure: () => Promise.reject(new ConfigError('CLOUD is nowhere')) });
    const other = fakeHost([`--target-kubeconfig=${kubeconfig}`]);
    expect(await runBinary(wrong.definition, other.host)).toBe(1);
    expect(other.errors).toEqual(['demo: CLOUD is nowhere']);
    expect(requests).toEqual([]);
  });

  test('a binary prints its ready line, serves health, holds a lease, sends its last events, and exits with 0 after SIGTERM', async () => {
    const { definition, began } = demo();
    const t = fakeHost([`--target-kubeconfig=${kubeconfig}`, '--safety-up=5']);
    const exit = runBinary(definition, t.host);
    const address = await t.readyOr(exit);
    const context = await began;
    expect(context.flags).toMatchObject({ 'safety-up': 5, port: 0 });
    expect(context.target).toBeDefined();

    const get = async (path: string) => {
      const response = await fetch(address + path);
      return { status: response.status, text: await response.text() };
    };
    expect(await get('/healthz')).toEqual({ status: 200, text: 'OK' });
    expect((await get('/readyz?verbose')).text).toBe(
      [
        '[+]configuration ok',
        '[+]health-server ok',
        '[+]environment ok',
        '[+]control-api-server ok',
        '[+]target-api-server ok',
        '[+]leader-election leading',
        '[+]controller/only ok',
        'readyz check passed',
        '',
      ].join('\n'),
    );
    expect((await get('/metrics')).text).toContain(
      'rest_client_requests_total{code="200",method="GET",host="127.0.0.1:',
    );
    expect((await get('/metrics')).text).toMatch(/nodejs_eventloop_delay_seconds\{quantile="0.99"\} /);
    expect((await get('/nope')).status).toBe(404);
    const held = await client().resource(leases, 'default').get('demo');
    expect(held.spec?.holderIdentity).toBe('me');
    expect(holderSettings(held)).toEqual({ 'safety-up': 5, 'feature-gates': {} });

    t.stop();
    expect(await exit).toBe(0);
    const released = await client().resource(leases, 'default').get('demo');
    expect(released.spec?.holderIdentity).toBe('');
    expect(holderSettings(released)).toBeUndefined();
    expect(requests).toContain(
      'demo/1.2.3 (leader-election): POST /apis/coordination.k8s.io/v1/namespaces/default/leases',
    );
    expect(requests).toContain('demo/1.2.3 (events): POST /api/v1/namespaces/default/events');
    expect(t.printed).toEqual([`ready ${address}`]);
    expect(t.errors).toEqual([]);
    await expect(fetch(`${address}/healthz`)).rejects.toThrow();
  });

  test('a malformed object is reported by one event and counted by a metric, until it is corrected', async () => {
    const api = client().resource(configMaps, 'default');
    await api.create({ metadata: { name: 'bad' }, data: { wanted: 'many' } });
    await api.create({ metadata: { name: 'good' }, data: {} });
    const properties = { data: { type: 'object', properties: { wanted: { type: 'integer' } } } } as const;
    const definition = { ...configMaps, shape: { type: 'object', properties } } as const;
    const { definition: binary } = demo({
      units: ({ control, runtime, namespace }) => {
        const informer = createInformer(control, definition, { ...runtime, namespace });
        const needs = [{ client: control, definition: configMaps }];
        return [{ name: 'only', needs, informers: [informer], run: untilAbort }];
      },
    });
    const t = fakeHost([`--target-kubeconfig=${kubeconfig}`, '--leader-elect=false']);
    const exit = runBinary(binary, t.host);
    const address = await t.readyOr(exit);
    const counted = async () =>
      /^mcm_malformed_objects\{resource="configmaps"\} (\d+)$/m.exec(
        await (await fetch(`${address}/metrics`)).text(),
      )?.[1];
    await vi.waitFor(async () => expect(await counted()).toBe('1'), 10_000);
    const reported = async () =>
      (await client().resource(events, 'default').list()).items.filter(({ reason }) => reason === 'MalformedObject');
    await vi.waitFor(async () => expect(await reported()).toHaveLength(1), 10_000);
    expect((await reported())[0]).toMatchObject({
      type: 'Warning',
      involvedObject: { kind: 'ConfigMap', name: 'bad' },
      message: expect.stringMatching(
        /^ConfigMap default\/bad is malformed: data\.wanted is a string: an integer is needed/,
      ),
    });
    await api.patch('bad', { type: 'merge', body: { data: { wanted: null } } });
    await vi.waitFor(async () => expect(await counted()).toBe('0'), 10_000);
    t.stop();
    expect(await exit).toBe(0);
    expect(await reported()).toHaveLength(1);
  });

  test('without election a binary works immediately, and a second stop request exits immediately', async () => {
    const hang = Promise.withResolvers<void>();
    const { definition } = demo({
      units: () => [{ name: 'hangs', needs: [], informers: [], run: () => hang.promise }],
    });
    const t = fakeHost([`--target-kubeconfig=${kubeconfig}`, '--leader-elect=false']);
    const exit = runBinary(definition, t.host);
    await t.readyOr(exit);
    t.stop('SIGINT');
    expect(t.exits).toEqual([]);
    t.stop('SIGINT');
    expect(t.exits).toEqual([1]);
    hang.resolve();
    expect(await exit).toBe(0);
    expect(requests.filter((request) => request.includes('leases'))).toEqual([]);
  });

  test('work that does not end is abandoned after its grace period, so the end takes less than three seconds', async () => {
    const { definition } = demo({
      units: () => [{ name: 'hangs', needs: [], informers: [], run: () => new Promise<void>(() => undefined) }],
    });
    const asked: number[] = [];
    const t = fakeHost([`--target-kubeconfig=${kubeconfig}`, '--leader-elect=false']);
    let stopped = false;
    const exit = runBinary(definition, {
      ...t.host,
      clock: {
        ...realClock,
        setTimeout: (callback, ms) => {
          if (!stopped) return realClock.setTimeout(callback, ms);
          asked.push(ms);
          return realClock.setTimeout(callback, ms === 8000 ? ms : 0);
        },
      },
    });
    await t.readyOr(exit);
    stopped = true;
    t.stop();
    expect(await exit).toBe(0);
    expect(asked).toContain(1500);
    expect(asked.filter((ms) => ms !== 8000).reduce((sum, ms) => sum + ms, 0)).toBeLessThan(3000);
  });

  test('losing the lease ends the process with 1', async () => {
    const { definition, began } = demo();
    const t = fakeHost([`--target-kubeconfig=${kubeconfig}`, '--leader-elect-retry-period=20ms']);
    const exit = runBinary(definition, t.host);
    const { control, controlAs, target } = await began;
    await client()
      .resource(leases, 'default')
      .patch('demo', {
        type: 'merge',
        body: {
          spec: { holderIdentity: 'usurper', leaseDurationSeconds: 60, renewTime: '2026-01-01T00:00:01.000000Z' },
        },
      });
    expect(await exit).toBe(1);
    expect(t.errors).toEqual([
      'demo: Lease lost: ending the process, because another replica may become the leader: another process is the leader',
    ]);
    for (const late of [control, controlAs('x'), target]) {
      const created = late?.resource(configMaps, 'default').create({ metadata: { name: 'late' } });
      await expect(created).rejects.toMatchObject({ reason: 'NotLeading' });
    }
    await client().resource(leases, 'default').delete('demo');
  });

  test('a binary waits for an API server, reports that in /readyz and a metric, and ends on request', async () => {
    const away = join(folder, 'away');
    await writeFile(away, plane.kubeconfig().replace(plane.url ?? '', 'https://127.0.0.1:1'));
    const port = await freePort();
    const t = fakeHost([`--target-kubeconfig=${away}`, `--port=${port}`]);
    const listening = Promise.withResolvers<void>();
    const { definition } = demo();
    const exit = runBinary(definition, {
      ...t.host,
      random: {
        next: () => {
          listening.resolve(); // The test defines the random number for the first back-off.
          return 0.5;
        },
      },
    });
    await listening.promise;
    const reported = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    expect(await reported('/readyz?verbose')).toMatch(/\[-\]control-api-server .*ECONNREFUSED/);
    expect(await reported('/metrics')).toContain('runtime_warning{kind="api-server",subject="control"} 1');
    t.stop();
    expect(await exit).toBe(0);
    expect(t.printed).toEqual([]);
  });

  test('a port in use is reported in one sentence', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const t = fakeHost([`--target-kubeconfig=${kubeconfig}`, `--port=${port}`]);
    expect(await runBinary(demo().definition, t.host)).toBe(1);
    expect(t.errors).toEqual([`demo: --port: ${port} on 127.0.0.1 is in use; use another port`]);
    other.close();
  });

  test.each([
    [['--safety-up=x'], ['demo: --safety-up must be an integer of at least 0, not "x"']],
    [
      ['--leader-elect-lease-duration=5s'],
      ['demo: --leader-elect-lease-duration must be longer than --leader-elect-renew-deadline'],
    ],
    [
      ['--kube-api-qps=5', '--kube-api-burst=0'],
      ['demo: --kube-api-burst must be at least 1 when --kube-api-qps is set'],
    ],
    [['--port=7000', '--secure-port=7000'], ['demo: --port and --secure-port must not both be 7000']],
    [['--target-kubeconfig=/nope'], ['demo: --target-kubeconfig=/nope: kubeconfig /nope does not exist']],
    [
      [],
      [
        'demo: --target-kubeconfig (absent, which means inClusterConfig): the process does not run in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; give the path of a kubeconfig',
      ],
    ],
    [
      ['--target-kubeconfig=none'],
      ['demo: --target-kubeconfig=none needs --control-kubeconfig: a path or "inClusterConfig"'],
    ],
  ])('%j exits with 1 and the reason', async (argv, errors) => {
    const t = fakeHost(argv);
    expect(await runBinary(demo().definition, t.host)).toBe(1);
    expect(t.errors).toEqual(errors);
  });

  test('--version prints and exits with 0', async () => {
    const t = fakeHost(['--version']);
    expect(await runBinary(demo().definition, t.host)).toBe(0);
    expect(t.printed).toEqual(['1.2.3']);
  });
});

test.each([
  ['', '', { target: 'inClusterConfig', control: 'inClusterConfig' }],
  ['/t', '', { target: '/t', control: '/t' }],
  ['/t', 'inClusterConfig', { target: '/t', control: 'inClusterConfig' }],
  ['none', '/c', { target: undefined, control: '/c' }],
])(
  'the kubeconfigs of the clusters come from --target-kubeconfig=%j and --control-kubeconfig=%j',
  (targetKubeconfig, controlKubeconfig, expected) => {
    expect(chooseSources({ targetKubeconfig, controlKubeconfig })).toEqual(expected);
  },
);
