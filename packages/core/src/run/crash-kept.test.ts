import { Annotations, crds, Labels, NodeConditions, Taints } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { nodes, pods } from '@mcm/kube';
import { thoroughly } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { type CrashOptions, type CrashResult, type CrashTest, runWithCrashes } from './testing/crash-runs.ts';
import { NAMESPACE } from './testing/rig.ts';

const open: CrashOptions['open'] = (clock) => startControlPlane({ clock, crds, controllers: false });

const SICK = [{ type: 'Ready', status: 'False', reason: 'KubeletDown', lastTransitionTime: '2026-01-01T00:00:00Z' }];
const READY = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: '2026-01-01T00:00:00Z' }];
const SCALE_DOWN = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';

const nodeOf = async ({ rig }: CrashTest) => (await rig.nodes())[0];
const conditionOf = async (stage: CrashTest, type: string) =>
  (await nodeOf(stage))?.status?.conditions?.find((condition) => condition.type === type);

async function mark(stage: CrashTest, metadata: object): Promise<void> {
  await stage.rig.admin.resource(nodes).patch('m', { type: 'merge', body: { metadata } });
}

async function report(stage: CrashTest, ready: readonly object[]): Promise<void> {
  const others = ((await nodeOf(stage))?.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
  await stage.rig.conditions('m', [...others, ...ready]);
}

async function endPods({ rig }: CrashTest): Promise<void> {
  const resource = rig.admin.resource(pods, NAMESPACE);
  for (const { metadata } of (await resource.list()).items) {
    if (metadata.deletionTimestamp) await resource.delete(metadata.name, { gracePeriodSeconds: 0 });
  }
}

async function born(stage: CrashTest): Promise<void> {
  const { rig, settled } = stage;
  await rig.createMachine('m', { machinePreserveTimeout: '24h' });
  await settled(async () => (await rig.phase('m')) === 'Running');
  await rig.createPod('a', 'm');
}

async function preserved(stage: CrashTest): Promise<void> {
  const { rig, settled } = stage;
  await born(stage);
  await mark(stage, { annotations: { [Annotations.Preserve]: 'when-failed' } });
  await report(stage, SICK);
  await settled(async () => (await rig.phase('m')) === 'Failed');
  await settled(async () => (await conditionOf(stage, NodeConditions.Preserved))?.status === 'True');
  await settled(async () => Boolean((await rig.machine('m'))?.status?.currentStatus?.preserveExpiryTime));
  const kept = await nodeOf(stage);
  expect(await rig.podNames()).toEqual([]);
  expect(kept?.spec.taints?.map(({ key }) => key)).toContain(Taints.Preserved.key);
  expect(kept?.spec.unschedulable ?? false).toBe(false);
  expect(kept?.metadata.annotations?.[SCALE_DOWN]).toBe('true');
  await report(stage, READY);
  await settled(async () => (await rig.phase('m')) === 'Running');
  await settled(async () => !(await nodeOf(stage))?.metadata.annotations?.[SCALE_DOWN]);
  await settled(async () => !(await rig.machine('m'))?.status?.currentStatus?.preserveExpiryTime);
  expect(((await nodeOf(stage))?.spec.taints ?? []).map(({ key }) => key)).not.toContain(Taints.Preserved.key);
  expect(rig.cloud.made).toHaveLength(1);
}

async function updatedInPlace(stage: CrashTest): Promise<void> {
  const { rig, settled } = stage;
  await born(stage);
  const reason = async () => (await conditionOf(stage, NodeConditions.InPlaceUpdate))?.reason;
  await mark(stage, { labels: { [Labels.CandidateForUpdate]: 'true' } });
  await settled(async () => (await reason()) === 'CandidateForUpdate');
  await mark(stage, { labels: { [Labels.SelectedForUpdate]: 'true' } });
  await settled(async () => {
    await endPods(stage);
    return (await reason()) === 'ReadyForUpdate';
  });
  expect(await rig.podNames()).toEqual([]);
  expect(await rig.phase('m')).toBe('InPlaceUpdating');
  expect((await nodeOf(stage))?.spec.unschedulable).toBe(true);
  await mark(stage, { labels: { [Labels.UpdateResult]: 'successful' } });
  await settled(async () => (await reason()) === 'UpdateSuccessful');
  await settled(async () => /Running|InPlaceUpdateSuccessful/.test((await rig.phase('m')) ?? ''));
  expect(rig.cloud.made).toHaveLength(1);
}

const play = (crashes: readonly number[], story: (stage: CrashTest) => Promise<void>): Promise<CrashResult> =>
  runWithCrashes(crashes, { open }, story);

test.each([
  ['preserved when it failed, and recovered', preserved],
  ['updated in place', updatedInPlace],
] as const)(
  'a machine %s, the process killed at every write: the result is the same, with no other VM',
  async (_, story) => {
    const { points } = await play([], story);
    expect(points).toBeGreaterThan(15);
    for (let at = 0; at < points; at += thoroughly(2, 8, 1)) {
      const { crashes } = await play([at], story).catch((error: unknown) => {
        throw new Error(`killed at ${at} of ${points}: ${String(error)}`, { cause: error });
      });
      expect(crashes).toBe(1);
    }
  },
  300_000,
);
