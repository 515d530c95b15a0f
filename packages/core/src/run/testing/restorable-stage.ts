import { crds } from '@mcm/api';
import { type RestorablePlane, startRestorablePlane } from '@mcm/control-plane';
import { VirtualClock } from '@mcm/kube';
import { expect, onTestFinished } from 'vitest';
import { Rig, type RigOptions } from './rig.ts';

export interface RestorableStage {
  readonly rig: Rig;
  readonly plane: RestorablePlane;
}

/** At the end, the test fails if a delete request had no precondition. */
export async function staged(options: Partial<RigOptions> = {}): Promise<RestorableStage> {
  const clock = new VirtualClock();
  const plane = await startRestorablePlane({ clock, crds, controllers: false, eventTtlMs: 0 });
  const rig = new Rig({ clock, plane, ...options });
  onTestFinished(async () => {
    await rig.kill();
    await plane.close();
    expect([...rig.writes.unbound]).toEqual([]);
  });
  await rig.createClass();
  rig.start();
  return { rig, plane };
}

export async function running(rig: Rig, ...names: readonly string[]): Promise<void> {
  for (const name of names) await rig.createMachine(name);
  await rig.until(async () => {
    const phases = await Promise.all(names.map((name) => rig.phase(name)));
    return phases.every((phase) => phase === 'Running');
  });
}
