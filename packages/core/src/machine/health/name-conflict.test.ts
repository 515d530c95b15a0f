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
