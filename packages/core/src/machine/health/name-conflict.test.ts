import { expect, test } from 'vitest';
import { MACHINE_DEFAULTS, settingsOf } from '../../settings/settings.ts';
import type { MachineObservation } from '../model/observation.ts';
import { at, hc, machine, NOON, node } from '../testing.ts';
import { planNameConflict } from './name-conflict.ts';

const SECOND = 1 / 60;

function see(nodeMadeAt: number, ready: 'True' | 'Unknown'): MachineObservation {
  const m = machine({ spec: { providerID: 'a:///mine' }, status: { currentStatus: { phase: 'Running' } } });
  return {
    machine: m,
    settings: settingsOf(m, MACHINE_DEFAULTS),
    inputs: 'i',
    asksForToken: false,
    hasTarget: true,
    frozen: false,
    calls: {},
    driver: { initialize: true, status: true },
    replacementsInProgress: 0,
    conflictingNode: node({
      metadata: { creationTimestamp: at(nodeMadeAt) },
      spec: { providerID: 'a:///other' },
      conditions: hc(ready),
    }),
  };
}

const later = new Date(NOON.getTime() + 10 * 60_000);

test.each<[row: string, nodeMadeAt: number, ready: 'True' | 'Unknown', deleted: boolean]>([
  ['one second older than the machine, and Ready', -SECOND, 'True', true],
  ['of the same second as the machine, and Ready', 0, 'True', false],
  ['younger than the machine, and Ready', SECOND, 'True', false],
  ['of the same second as the machine, and without a reporting kubelet', 0, 'Unknown', true],
])('a Node of another VM under the name of the machine is %s', (_row, nodeMadeAt, ready, deleted) => {
  const plan = planNameConflict(see(nodeMadeAt, ready), later);
  expect(plan?.actions.map((action) => action.do) ?? []).toEqual(deleted ? ['deleteStaleNode'] : []);
});

test('a clock behind the API server causes one lookup in 30 seconds, not one after the other', () => {
  const { machine: m, ...seen } = see(10, 'True');
  const joining = { ...seen, machine: { ...m, status: { currentStatus: { phase: 'Pending' as const } } } };
  const after = (kind: 'create' | 'status', seconds: number) => {
    const instance = { providerId: 'a:///mine', nodeName: 'n' };
    const last = { kind, at: NOON, failures: 0, inputs: 'i', outcome: { ok: true as const, instance } };
    const o: MachineObservation = { ...joining, calls: { last } };
    return planNameConflict(o, new Date(NOON.getTime() + seconds * 1_000));
  };
  const lookup = [{ do: 'call', call: 'status' }];
  expect(after('create', 0)?.actions).toEqual(lookup);
  expect(after('status', 29)).toMatchObject({ actions: [], next: { instant: new Date(NOON.getTime() + 30_000) } });
  expect(after('status', 30)?.actions).toEqual(lookup);
});
