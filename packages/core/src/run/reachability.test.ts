import type { Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { startRig } from './testing/start.ts';

/** What the machine controller does while an API server is out of reach, by cutting its connections to it. */

const MINUTE = 60_000;
const SILENT = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] as const;
const READY = [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] as const;

type Cut = 'nothing' | 'control' | 'target';

/** Both clusters are one server here; which of them a request is for shows in its path. */
const serverOf = (path: string): Cut =>
  /\/(machine\.sapcloud\.io|secrets|configmaps|leases)(\/|\?|$)/.test(path) ? 'control' : 'target';

async function started() {
  let cut: Cut = 'nothing';
  const open = new Set<AbortController>();
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      const server = serverOf(request.path);
      if (server === cut) throw new TypeError('connection refused');
      const line = new AbortController();
      const signal = AbortSignal.any([line.signal, ...(request.signal ? [request.signal] : [])]);
      if (request.path.includes('watch=')) {
        Object.assign(line, { server });
        open.add(line);
      }
      return transport({ ...request, signal });
    };
  const rig = await startRig({ wrap });
  return {
    rig,
    /** Refuses connections, and breaks those that stand. */
    cut: (what: Cut) => {
      cut = what;
      for (const line of open) if ('server' in line && line.server === what) line.abort(new TypeError('reset'));
    },
  };
}

test.each<Cut>(['control', 'target'])(
  'S-F2 S-F3 S-F4 S-F5: the %s cluster cut off: frozen, nobody is judged; back again, the outage is not held against anybody',
  async (server) => {
    const { rig, cut } = await started();
    for (const name of ['m-0', 'm-1', 'm-2']) await rig.createMachine(name);
    await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
    await rig.conditions('m-0', SILENT);
    await rig.until(async () => (await rig.phase('m-0')) === 'Unknown');
    const before = await rig.machine('m-0');

    cut(server);
    await rig.until(async () => rig.controller?.frozen() === true, 5 * MINUTE);
    const told = rig.log.lines.find(({ message }) => message.startsWith('API servers are out of reach'));
    expect(told?.fields?.outOfReach).toEqual([
      expect.stringMatching(`^${server}: GET .*no answer.*connection refused`),
    ]);
    const orphan = rig.cloud.plant('nobody', rig.clock.now().toISOString());
    await rig.clock.advance(3 * 60 * MINUTE);
    // Long past the health timeout of ten minutes.
    expect((await rig.machine('m-0'))?.status).toEqual(before?.status);
    expect(rig.cloud.vms).toContain(orphan);
    await rig.createMachine('m-3');
    await rig.clock.advance(10 * MINUTE);
    expect(rig.cloud.calls.create).toBe(3);

    cut('nothing');
    await rig.until(async () => rig.controller?.frozen() === false, 10 * MINUTE);
    // Running for a moment; still silent, it is Unknown anew, and has its whole time again.
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

test('a cut shorter than the timeout freezes nothing', async () => {
  const { rig, cut } = await started();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  cut('control');
  let frozen = false;
  for (let second = 0; second < 30; second++) {
    await rig.clock.advance(1_000);
    frozen ||= rig.controller?.frozen() === true;
  }
  cut('nothing');
  await rig.clock.advance(10 * MINUTE);
  expect(frozen || rig.controller?.frozen()).toBe(false);
});
