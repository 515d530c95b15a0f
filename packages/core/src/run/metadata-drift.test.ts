import { Annotations, Labels } from '@mcm/api';
import { type EventObject, events, nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { startRig } from './testing/start.ts';

const MINUTE = 60_000;
const KEY = Annotations.DriftPolicy;

async function started() {
  const rig = await startRig();
  const labels = { site: 'a', team: 'a', tier: 'a' };
  const annotations = { [KEY]: 'labels/team=Warn, labels/tier=Yield' };
  await rig.createMachine('m', { nodeTemplate: { metadata: { labels } } }, { annotations });
  await rig.until(async () => (await rig.phase('m')) === 'Running');
  await rig.clock.advance(MINUTE);
  const node = (await rig.nodes())[0]?.metadata.name ?? '';
  const relabel = (changes: Readonly<Record<string, string | null>>) =>
    rig.admin.resource(nodes).patch(node, { type: 'merge', body: { metadata: { labels: changes } } });
  const labelsNow = async () => {
    const { [Labels.MachineName]: _, ...rest } = (await rig.nodes())[0]?.metadata.labels ?? {};
    return { site: rest.site, team: rest.team, tier: rest.tier };
  };
  const drifts = async () =>
    (await rig.admin.resource<EventObject>(events).list()).items.filter(({ reason }) => reason === 'NodeMetadataDrift');
  return { rig, node, relabel, labelsNow, drifts };
}

test('mcm enforces, reports or accepts changed labels of a Node, and reports a change once', async () => {
  const { rig, node, relabel, labelsNow, drifts } = await started();
  expect(await labelsNow()).toEqual({ site: 'a', team: 'a', tier: 'a' });
  await relabel({ site: 'b', team: 'b', tier: 'b' });
  await rig.clock.advance(MINUTE);
  expect(await labelsNow()).toEqual({ site: 'a', team: 'b', tier: 'b' });
  const [event, ...more] = await drifts();
  expect(more).toEqual([]);
  expect(event?.message).toBe(
    `Another client changed labels/team of Node ${node}, and mcm keeps the changes (drift policy Warn). Correct the Node or the node template.`,
  );
  await rig.clock.advance(10 * MINUTE);
  expect((await drifts()).map(({ count }) => count ?? 1)).toEqual([1]);
});

test('without drift, mcm writes no Node', async () => {
  const { rig, relabel } = await started();
  await relabel({ team: 'b', tier: 'b' });
  await rig.clock.advance(MINUTE);
  const version = (await rig.nodes())[0]?.metadata.resourceVersion;
  await rig.clock.advance(30 * MINUTE);
  expect((await rig.nodes())[0]?.metadata.resourceVersion).toBe(version);
});
