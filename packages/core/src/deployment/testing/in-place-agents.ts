import { Labels, type Machine } from '@mcm/api';
import { nodes } from '@mcm/kube';
import { expect } from 'vitest';
import type { World } from './world.ts';

export type Verdict = 'successful' | 'failed' | 'hangs';

export const strategy = (orchestrationType: 'Auto' | 'Manual', maxSurge: number, maxUnavailable: number) => ({
  strategy: { type: 'InPlaceUpdate' as const, inPlaceUpdate: { orchestrationType, maxSurge, maxUnavailable } },
});

const condition = (reason: string) => ({ conditions: [{ type: 'InPlaceUpdate', status: 'True', reason }] });

const hasEnded = ({ status }: Machine): boolean =>
  status?.conditions?.some(({ reason }) => reason === 'UpdateSuccessful' || reason === 'UpdateFailed') === true;

export async function label(world: World, name: string, value: string | null, key: string = Labels.SelectedForUpdate) {
  const body = { metadata: { labels: { [key]: value } } };
  await world.keeper.resource(nodes).patch(name, { type: 'merge', body });
}

export async function play(world: World, verdict: (machine: Machine) => Verdict = () => 'successful'): Promise<void> {
  const all = new Map((await world.machines()).map((machine) => [machine.metadata.name, machine]));
  for (const { metadata } of await world.nodes()) {
    const { name, labels = {} } = metadata;
    const machine = all.get(name);
    if (!machine || machine.metadata.deletionTimestamp) continue;
    const { phase } = machine.status?.currentStatus ?? {};
    if (phase === 'InPlaceUpdateSuccessful') await world.setPhase(name, 'Running');
    if (labels[Labels.UpdateResult] !== undefined) continue;
    if (labels[Labels.SelectedForUpdate] === undefined) {
      if (labels[Labels.CandidateForUpdate] !== undefined && hasEnded(machine))
        await world.setPhase(name, 'Running', condition('CandidateForUpdate'));
      continue;
    }
    if (phase === 'Running') {
      await world.keeper.resource(nodes).patch(name, { type: 'merge', body: { spec: { unschedulable: true } } });
      await world.setPhase(name, 'InPlaceUpdating', condition('ReadyForUpdate'));
      continue;
    }
    const result = verdict(machine);
    if (phase !== 'InPlaceUpdating' || result === 'hangs') continue;
    await label(world, name, result, Labels.UpdateResult);
    const ok = result === 'successful';
    await world.setPhase(
      name,
      ok ? 'InPlaceUpdateSuccessful' : 'InPlaceUpdateFailed',
      condition(ok ? 'UpdateSuccessful' : 'UpdateFailed'),
    );
  }
}

export async function rounds(world: World, count: number, verdict?: (machine: Machine) => Verdict): Promise<void> {
  for (let i = 0; i < count; i++) {
    await world.pass(1);
    await play(world, verdict);
  }
  await world.pass(5);
}

export const uids = async (world: World) => (await world.machines()).map(({ metadata }) => metadata.uid).sort();

export async function expectClean(world: World): Promise<void> {
  for (const { metadata, spec } of await world.nodes()) {
    expect(Object.keys(metadata.labels ?? {}).filter((key) => key.startsWith('node.machine.sapcloud.io/'))).toEqual([]);
    expect(spec.unschedulable).toBeFalsy();
  }
  for (const { metadata } of await world.machines()) expect(metadata.labels?.[Labels.UpdateResult]).toBeUndefined();
}
