import { expect, test } from 'vitest';
import type { Rig } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

/** Machines that the breaker holds back: what changes it brings the next look, nothing else does. */

const MINUTE = 60_000;

const ready = (status: 'True' | 'Unknown', rig: Rig) => [
  { type: 'Ready', status, reason: 'Test', lastTransitionTime: rig.clock.now().toISOString() },
];

/** Four machines, of which three have been silent for longer than the health timeout. */
async function outage(): Promise<Rig> {
  const rig = await startRig();
  for (let i = 0; i < 4; i++) await rig.createMachine(`m-${i}`);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  for (let i = 0; i < 3; i++) await rig.conditions(`m-${i}`, ready('Unknown', rig));
  await rig.clock.advance(15 * MINUTE);
  expect(await phases(rig)).toEqual(['Unknown', 'Unknown', 'Unknown', 'Running']);
  return rig;
}

const phases = async (rig: Rig) => (await rig.machines()).map((m) => m.status?.currentStatus?.phase);

test('#13 as long as nothing changes nobody looks', async () => {
  const rig = await outage();
  expect(rig.controller?.idle(24 * 60 * MINUTE)).toBe(true);
});

test('#13 one of the silent is deleted by hand: the others are judged in seconds', async () => {
  const rig = await outage();
  await rig.deleteMachine('m-0');
  const took = await rig.until(async () => (await phases(rig)).includes('Failed'), 10_000);
  expect(took).toBeGreaterThan(1_000);
});

test('#13 two speak again: the third is judged when they have done so for long enough, and not before', async () => {
  const rig = await outage();
  for (const i of [0, 1]) await rig.conditions(`m-${i}`, ready('True', rig));
  await rig.clock.advance(4 * MINUTE);
  expect(await rig.phase('m-2')).toBe('Unknown');
  await rig.until(async () => (await rig.phase('m-2')) === 'Failed', 3 * MINUTE);
});
