import { Annotations, Labels } from '@mcm/api';
import { events, nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NAMESPACE } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

test('an event on the Machine lists annotations of its Node that have an effect although their value means "no"', async () => {
  const rig = await startRig();
  await rig.createMachine('m');
  await rig.until(async () => (await rig.phase('m')) === 'Running');
  const [node] = await rig.nodes();
  const marks = (value: string) => ({
    metadata: {
      labels: { [Labels.CandidateForUpdate]: 'true', [Labels.SelectedForUpdate]: value },
      annotations: { [Annotations.NotManagedByMCM]: value },
    },
  });
  const mark = (value: string) =>
    rig.admin.resource(nodes).patch(node?.metadata.name ?? '', { type: 'merge', body: marks(value) });
  const reported = async () =>
    (await rig.admin.resource(events, NAMESPACE).list()).items.filter(({ reason }) => reason === 'InvalidInput');
  await mark('true');
  await rig.clock.advance(60_000);
  expect(await reported()).toEqual([]);
  await mark('false');
  await rig.clock.advance(60_000);
  const said = (await reported()).map(({ message, involvedObject }) => `${involvedObject.kind} ${message}`).sort();
  expect(said).toEqual([
    expect.stringMatching(/^Machine Node \S+: metadata\.annotations\[\S+not-managed-by-mcm\]: "false" marks .*remove/),
    expect.stringMatching(/^Machine Node \S+: metadata\.labels\[\S+selected-for-update\]: "false" selects .*remove/),
  ]);
});
