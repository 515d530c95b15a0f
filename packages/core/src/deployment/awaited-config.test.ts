import { Annotations, type Machine, type MachineClass, type MachineSet } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { SAFEGUARD_DEFAULTS } from '../disruption/safeguards.ts';
import { deployment, machine, machinesOf, NOW, set } from '../set/test-objects.ts';
import { simulateRollout } from '../simulation/simulate.ts';
import { planRollout } from './plan.ts';

const { ConfigAwaitedByPool, TemplateConfig, ConfigApplied } = Annotations;

const made = (name: string, annotations: Record<string, string>, phase: 'Running' | 'Failed' = 'Running'): Machine => {
  const one = machine(name, { phase, age: 5 });
  return { ...one, metadata: { ...one.metadata, annotations: { ...one.metadata.annotations, ...annotations } } };
};
const FOR_TWO = { [TemplateConfig]: 'rendered-two' };

const old = (replicas: number): MachineSet => set('old', replicas, { className: 'former', age: 90 });

function step(
  newest: readonly Machine[],
  oldest: readonly Machine[] = machinesOf(3, 'Running', 'old'),
  annotations: Record<string, string> = { [ConfigAwaitedByPool]: 'workers' },
) {
  const sets = [old(oldest.length), set('new', newest.length, { age: 5 })];
  const plan = planRollout({
    deployment: deployment(3, { annotations }),
    sets,
    machines: new Map([
      ['uid-old', oldest],
      ['uid-new', newest],
    ]),
    creating: () => 0,
    nodeOf: () => undefined,
    now: NOW,
  });
  const after = new Map([...sets, ...plan.write].map(({ metadata, spec }) => [metadata.name, spec.replicas]));
  return { old: after.get('old'), new: after.get('new'), because: plan.because };
}

describe('a rollout for a machine configuration', () => {
  test('a rollout keeps old machines until the new machine has applied its configuration, and reports the wait', () => {
    expect(step([made('m', FOR_TWO)])).toEqual({
      old: 3,
      new: 1,
      because: 'waiting: m must apply the configuration of MachineConfigPool workers first',
    });
    expect(step([made('m', { ...FOR_TWO, [ConfigApplied]: 'true' })])).toMatchObject({ old: 2, new: 1 });
  });

  test('a rollout does not wait without a pool that requests it, or for machines without a configuration', () => {
    expect(step([made('m', FOR_TWO)], undefined, {})).toMatchObject({ old: 2 });
    expect(step([made('m', {})])).toMatchObject({ old: 2 });
  });

  test('a rollout first deletes an old machine that never applied its configuration', () => {
    const oldest = [...machinesOf(3, 'Running', 'old'), made('bad', FOR_TWO)];
    expect(step([], oldest)).toMatchObject({ old: 3, new: 0 });
    expect(step([], oldest, {})).toMatchObject({ old: 3, new: 0 });
    const two = [...machinesOf(2, 'Running', 'old'), made('bad', FOR_TWO)];
    expect(step([made('m', { ...FOR_TWO, [ConfigApplied]: 'true' })], two)).toMatchObject({ old: 2, new: 1 });
    expect(step([made('m', FOR_TWO)], two)).toMatchObject({ old: 3, new: 1 });
  });
});

test('the preview of the rollout expects that machines apply their configuration', () => {
  const pool = deployment(3, { annotations: { [ConfigAwaitedByPool]: 'workers' } });
  const annotations = { [TemplateConfig]: 'rendered-two' };
  const template = { ...pool.spec.template, metadata: { ...pool.spec.template.metadata, annotations } };
  const fleet = machinesOf(3, 'Running', 'old', { owner: old(3) });
  const { end } = simulateRollout({
    deployment: { ...pool, spec: { ...pool.spec, template } },
    sets: [old(3)],
    fleet,
    nodes: [],
    classes: [{ metadata: { name: 'small' } } as MachineClass],
    overlaps: [],
    safeguards: SAFEGUARD_DEFAULTS,
    durations: { join: () => 60_000, gone: () => 60_000, update: () => 60_000 },
    now: NOW,
  });
  const left = end.sets.map(({ metadata, spec }) => [metadata.name === 'old', spec.replicas]);
  expect(left).toEqual([
    [true, 0],
    [false, 3],
  ]);
});
