import { expect, test } from 'vitest';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { Cuts, type Server } from './testing/cuts.ts';
import { startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test.each<Server>(['control', 'target'])(
  'while the API server of the %s cluster is unreachable, the cloud is not searched for orphans; the time until their deletion starts after it',
  async (server) => {
    let monotonic = (): number => 0;
    const cuts = new Cuts(() => monotonic());
    const rig = await startRig({ wrap: cuts.wrap });
    monotonic = () => rig.clock.monotonic();
    await rig.createMachine('m-0');
    await rig.until(async () => (await rig.phase('m-0')) === 'Running');
    const frozen = (): boolean => rig.controller?.frozen() === true;

    cuts.cut(server, 'refused');
    await rig.until(async () => frozen(), 5 * MINUTE);
    const orphan = rig.cloud.plant('nobody', rig.clock.now().toISOString());
    const searches = rig.cloud.calls.list;
    await rig.clock.advance(2 * HOUR);
    expect(rig.cloud.calls.list).toBe(searches);

    cuts.restore();
    await rig.until(async () => !frozen(), 10 * MINUTE);
    const thawedAt = rig.clock.monotonic();
    await rig.until(async () => !rig.cloud.vms.includes(orphan), 2 * HOUR);
    expect(rig.clock.monotonic() - thawedAt).toBeGreaterThanOrEqual(ORPHAN_DEFAULTS.confirmAfterMs);
  },
);
