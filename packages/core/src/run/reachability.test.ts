import { machines } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { probeIntervalMs, REACHABILITY_DEFAULTS } from '../machine/health/reachability.ts';
import { type Cut, Cuts, type Server } from './testing/cuts.ts';
import { NAMESPACE } from './testing/rig.ts';
import { createRig, startRig } from './testing/start.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const UNREACHABLE = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] as const;
const READY = [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] as const;
const TIMEOUT = REACHABILITY_DEFAULTS.timeoutMs;
const INTERVAL = probeIntervalMs(REACHABILITY_DEFAULTS);
const HEALTH_TIMEOUT = 10 * MINUTE;

const SERVERS: readonly Server[] = ['control', 'target'];
const WAYS: readonly Cut[] = ['refused', 'silent', 'hanging', 'failing'];
const EVERY_WAY = SERVERS.flatMap((server) => WAYS.map((way) => [server, way] as const));

async function started(...names: readonly string[]) {
  let monotonic = (): number => 0;
  const cuts = new Cuts(() => monotonic());
  const rig = await startRig({ wrap: cuts.wrap });
  monotonic = () => rig.clock.monotonic();
  for (const name of names) await rig.createMachine(name);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  return { rig, cuts };
}

type Rig = Awaited<ReturnType<typeof started>>['rig'];

async function almostFailed(rig: Rig, leftMs: number): Promise<void> {
  await rig.conditions('m-0', UNREACHABLE);
  await rig.until(async () => (await rig.phase('m-0')) === 'Unknown');
  const since = Date.parse((await rig.machine('m-0'))?.status?.currentStatus?.lastUpdateTime ?? '');
  await rig.clock.advance(since + HEALTH_TIMEOUT - leftMs - rig.clock.now().getTime());
}

const isFrozen = (rig: Rig): boolean => rig.controller?.frozen() === true;

test.each<Server>(['control', 'target'])(
  'the %s cluster is unreachable: frozen, no health is checked, and the outage counts for no machine afterwards [S-F2, S-F3, S-F4, S-F5]',
  async (server) => {
    const { rig, cuts } = await started('m-0', 'm-1', 'm-2');
    await rig.conditions('m-0', UNREACHABLE);
    await rig.until(async () => (await rig.phase('m-0')) === 'Unknown');
    const before = await rig.machine('m-0');

    cuts.cut(server, 'refused');
    await rig.until(async () => isFrozen(rig), 5 * MINUTE);
    const reported = rig.log.lines.find(({ message }) => message.startsWith('API servers unreachable'));
    expect(reported?.fields?.outOfReach).toEqual([
      expect.stringMatching(`^${server}: GET .*no response.*connection refused`),
    ]);
    const orphan = rig.cloud.plant('nobody', rig.clock.now().toISOString());
    await rig.clock.advance(3 * 60 * MINUTE);
    expect((await rig.machine('m-0'))?.status).toEqual(before?.status);
    expect(rig.cloud.vms).toContain(orphan);
    await rig.createMachine('m-3');
    await rig.clock.advance(10 * MINUTE);
    expect(rig.cloud.calls.create).toBe(3);

    cuts.restore();
    await rig.until(async () => !isFrozen(rig), 10 * MINUTE);
    const since = async (): Promise<string> => (await rig.machine('m-0'))?.status?.currentStatus?.lastUpdateTime ?? '';
    const thawedAt = rig.clock.now().getTime();
    await rig.until(async () => (await rig.phase('m-0')) === 'Unknown', MINUTE);
    expect(Math.abs(Date.parse(await since()) - thawedAt)).toBeLessThan(MINUTE);
    await rig.clock.advance(9 * MINUTE);
    expect(await rig.phase('m-0')).toBe('Unknown');
    await rig.conditions('m-0', READY);
    await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
    expect(rig.cloud.made).toHaveLength(5);
    await rig.until(async () => !rig.cloud.vms.includes(orphan), 60 * MINUTE);
  },
);

test('a cut shorter than the timeout causes no freeze', async () => {
  const { rig, cuts } = await started('m-0');
  cuts.cut('control', 'refused');
  let frozen = false;
  for (let second = 0; second < 30; second++) {
    await rig.clock.advance(1_000);
    frozen ||= isFrozen(rig);
  }
  cuts.restore();
  await rig.clock.advance(10 * MINUTE);
  expect(frozen || isFrozen(rig)).toBe(false);
});

test.each(EVERY_WAY)(
  'machines are frozen at most the timeout and one probe interval after the last answer: %s %s',
  async (server, way) => {
    const { rig, cuts } = await started('m-0');
    let freezes = 0;
    for (const offset of [0, 0.3, 0.6, 0.9]) {
      await rig.clock.advance(2 * MINUTE + offset * INTERVAL);
      cuts.cut(server, way);
      const heardAt = cuts.answeredAt(server);
      while (!isFrozen(rig)) {
        await rig.clock.advance(SECOND / 2);
        expect(rig.clock.monotonic() - heardAt).toBeLessThanOrEqual(TIMEOUT + INTERVAL + SECOND / 2);
      }
      await rig.clock.advance(SECOND);
      expect(rig.log.lines.filter(({ message }) => message.startsWith('API servers unreachable'))).toHaveLength(
        ++freezes,
      );
      cuts.restore();
      await rig.until(async () => !isFrozen(rig), 2 * MINUTE);
    }
    expect(await rig.phase('m-0')).toBe('Running');
  },
);

describe('mcm checks no health with data older than the timeout', () => {
  // The watches stay open during these interruptions, so only the freeze prevents health checks.
  const OLD: readonly (readonly [Server, Cut])[] = SERVERS.flatMap((server) =>
    (['refused', 'silent', 'unwatched'] as const).map((way) => [server, way] as const),
  );

  test.each(OLD)('a machine whose timeout has ended is not marked Failed: %s %s', async (server, way) => {
    const { rig, cuts } = await started('m-0');
    await rig.clock.advance(INTERVAL / 2);
    let leftMs = TIMEOUT + 2 * INTERVAL;
    await almostFailed(rig, leftMs);
    while (leftMs > TIMEOUT + INTERVAL + SECOND / 2 || cuts.answeredAt(server) < rig.clock.monotonic()) {
      await rig.clock.advance(SECOND / 10);
      leftMs -= SECOND / 10;
    }
    expect(leftMs).toBe(TIMEOUT + INTERVAL / 2);
    cuts.cut(server, way);
    if (server === 'target') await rig.conditions('m-0', READY);
    await rig.clock.advance(leftMs + SECOND / 2);
    expect(rig.log.lines.filter(({ message }) => message.startsWith('API servers unreachable'))).toEqual([]);
    // Without a watch, only a list shows the new condition of the Node.
    const isListed = server === 'target' && way === 'unwatched';
    expect(await rig.phase('m-0')).toBe(isListed ? 'Running' : 'Unknown');
    await rig.conditions('m-0', READY);
    await rig.clock.advance(MINUTE);
    cuts.restore();
    await rig.until(async () => (await rig.phase('m-0')) === 'Running', 3 * MINUTE);
    await rig.clock.advance(MINUTE);
    expect(
      rig.log.lines.filter(({ fields }) => JSON.stringify(fields ?? {}).includes('health checks failing')),
    ).toEqual([]);
    expect(rig.cloud.made).toHaveLength(1);
  });

  test('mcm checks health with newer data', async () => {
    const { rig, cuts } = await started('m-0');
    await almostFailed(rig, 10 * SECOND);
    cuts.cut('target', 'refused');
    await rig.until(async () => (await rig.phase('m-0')) === 'Failed', 20 * SECOND);
  });
});

test('after a freeze a machine whose Node joins is Running at once, not after 30 s', async () => {
  const joinAfterMs = 6 * MINUTE;
  let monotonic = (): number => 0;
  const cuts = new Cuts(() => monotonic());
  const rig = await startRig({ wrap: cuts.wrap, joinAfterMs });
  monotonic = () => rig.clock.monotonic();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  const born = rig.clock.now().getTime();
  cuts.cut('target', 'refused');
  await rig.until(async () => isFrozen(rig), 5 * MINUTE);
  await rig.clock.advance(born + joinAfterMs - INTERVAL - rig.clock.now().getTime());
  cuts.restore();
  await rig.until(async () => !isFrozen(rig), 2 * MINUTE);
  const thawed = rig.clock.now().getTime();
  await rig.until(async () => (await rig.phase('m-0')) === 'Running', MINUTE);
  const joined = Math.max(thawed, born + joinAfterMs);
  expect(joined).toBeLessThan(thawed + 25 * SECOND);
  expect(rig.clock.now().getTime()).toBeLessThan(joined + 3 * SECOND);
});

test('after a freeze no machine becomes unhealthy for 30 s, with any events', async () => {
  const { rig, cuts } = await started('m-0', 'm-1');
  await rig.conditions('m-0', UNREACHABLE);
  await rig.until(async () => (await rig.phase('m-0')) === 'Unknown');
  cuts.cut('target', 'refused');
  await rig.until(async () => isFrozen(rig), 5 * MINUTE);
  await rig.conditions('m-1', UNREACHABLE);
  cuts.restore();
  await rig.until(async () => !isFrozen(rig), 2 * MINUTE);
  for (let second = 0; second < 29; second++) {
    await rig.conditions('m-0', [{ ...UNREACHABLE[0], message: `event ${second}` }]);
    await rig.clock.advance(SECOND);
    expect([await rig.phase('m-0'), await rig.phase('m-1')]).toEqual(['Running', 'Running']);
  }
  await rig.clock.advance(2 * SECOND);
  expect([await rig.phase('m-0'), await rig.phase('m-1')]).toEqual(['Unknown', 'Unknown']);
});

test('after a freeze the health timeout of a machine that took the name of another is not reset', async () => {
  let monotonic = (): number => 0;
  const cuts = new Cuts(() => monotonic());
  let raced = false;
  const rig: Rig = await startRig({
    joinAfterMs: undefined,
    wrap: (transport) => {
      const cut = cuts.wrap(transport);
      return async (request) => {
        if (!raced && request.method === 'PATCH' && String(request.body).includes('Health Timeout was reset')) {
          raced = true;
          const client = rig.admin.resource(machines, NAMESPACE);
          await client.patch('m-0', { type: 'merge', body: { metadata: { finalizers: null } } });
          await client.delete('m-0').catch(() => undefined);
          await rig.createMachine('m-0');
        }
        return cut(request);
      };
    },
  });
  monotonic = () => rig.clock.monotonic();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Pending');
  const [vm] = rig.cloud.vms;
  if (vm) await rig.join(vm);
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.conditions('m-0', UNREACHABLE);
  await rig.until(async () => (await rig.phase('m-0')) === 'Unknown');
  cuts.cut('target', 'refused');
  await rig.until(async () => isFrozen(rig), 5 * MINUTE);
  cuts.restore();
  await rig.until(async () => raced, 2 * MINUTE);
  await rig.clock.advance(SECOND);
  expect((await rig.machine('m-0'))?.status?.lastOperation?.description ?? '').not.toContain('was reset');
});

const changed = (rig: Rig, conditions: readonly object[]): Promise<void> =>
  rig.conditions(
    'm-0',
    conditions.map((condition) => ({ ...condition, lastTransitionTime: rig.clock.now().toISOString() })),
  );

test('a Node that recovers while Nodes cannot be read does not force the drain of its machine', async () => {
  let monotonic = (): number => 0;
  let unread = false;
  const cuts = new Cuts(() => monotonic());
  const rig: Rig = await startRig({
    wrap: (transport) => {
      const cut = cuts.wrap(transport);
      return async (request) => {
        if (unread && /\/nodes\?/.test(request.path)) throw new TypeError('connection refused');
        return cut(request);
      };
    },
  });
  monotonic = () => rig.clock.monotonic();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.createPod('web-1', 'm-0');
  await changed(rig, UNREACHABLE);
  await rig.deleteMachine('m-0');
  await rig.clock.advance(MINUTE);
  unread = true;
  cuts.cut('target', 'unwatched');
  cuts.restore();
  await changed(rig, READY);
  await rig.clock.advance(6 * MINUTE);
  expect(isFrozen(rig)).toBe(false);
  expect(await rig.podNames()).toEqual(['web-1']);
  unread = false;
  await rig.clock.advance(6 * MINUTE);
  expect(await rig.podNames()).toEqual(['web-1']);
  await changed(rig, UNREACHABLE);
  await rig.clock.advance(4 * MINUTE);
  expect(await rig.podNames()).toEqual(['web-1']);
  await rig.clock.advance(2 * MINUTE);
  expect(await rig.podNames()).toEqual([]);
});

test('a server that forbids the probe is reachable', async () => {
  const rig = await startRig({
    wrap: (transport) => async (request) =>
      request.path.endsWith('/dummy-name')
        ? new Response('{"kind":"Status","code":403,"reason":"Forbidden"}', { status: 403 })
        : transport(request),
  });
  await rig.createMachine('m-0');
  await rig.clock.advance(5 * MINUTE);
  expect(isFrozen(rig)).toBe(false);
  expect(await rig.phase('m-0')).toBe('Running');
});

describe('a fleet with answers of the control API server to other clusters', () => {
  async function fleetSetUp() {
    let cutAt = Number.POSITIVE_INFINITY;
    let now = (): number => 0;
    const paths: string[] = [];
    const cuts = new Cuts(() => now());
    const { rig } = await createRig({
      wrap: (transport) => (request) => {
        if (request.path.endsWith('/dummy-name')) paths.push(request.path);
        return cuts.wrap(transport)(request);
      },
      controlAnsweredMs: () => Math.max(now() - cutAt, 0),
    });
    now = () => rig.clock.monotonic();
    await rig.createClass();
    rig.start();
    await rig.createMachine('m-0');
    await rig.until(async () => (await rig.phase('m-0')) === 'Running');
    const cut = (): void => {
      cutAt = now();
      cuts.cut('control', 'refused');
    };
    return { rig, cut, probes: (kind: string) => paths.filter((path) => path.includes(`/${kind}/`)).length };
  }

  test('recent answers replace the probes of the control API server, but not the probes of the target', async () => {
    const { rig, probes } = await fleetSetUp();
    await rig.clock.advance(10 * MINUTE);
    expect([probes('machines'), isFrozen(rig)]).toEqual([0, false]);
    expect(probes('nodes')).toBeGreaterThan(50);
  });

  test('after the last answer, probes detect an outage in the usual time', async () => {
    const { rig, cut } = await fleetSetUp();
    cut();
    await rig.clock.advance(TIMEOUT - SECOND);
    expect(isFrozen(rig)).toBe(false);
    await rig.clock.advance(3 * INTERVAL);
    expect(isFrozen(rig)).toBe(true);
  });
});
