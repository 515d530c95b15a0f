import { crds, type MachineDeployment, machineDeployments } from '@mcm/api';
import type { KubeClient } from '@mcm/kube';
import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { CRDS } from '../drivers/fleet.ts';
import { NAMESPACE, World } from '../simulation/world/world.ts';
import { formOf, LACKING } from './crd-forms.ts';

/** During a rollout, the CRDs of mcm replace the CRDs of the original, and vice versa. */

const MINUTE = 60_000;

async function apply(admin: KubeClient, form: readonly object[]): Promise<void> {
  const resource = admin.resource(CRDS);
  for (const crd of form as typeof crds) {
    const { metadata } = await resource.get(crd.metadata.name);
    await resource.update({ ...crd, metadata } as never);
  }
}

const classes = async (world: World): Promise<string[]> =>
  (await world.machines()).map(({ spec }) => spec.class.name ?? '').sort();

const identities = async (world: World): Promise<string[]> =>
  (await world.machines()).map(({ metadata, spec }) => `${metadata.uid} ${spec.providerID}`).sort();

async function expectQuiet(world: World): Promise<void> {
  await world.clock.advance(MINUTE);
  const quiet = world.writes.length;
  await world.clock.advance(10 * MINUTE);
  expect(world.writes.slice(quiet)).toEqual([]);
}

test.each(sampled(Object.keys(LACKING), 2))(
  'the CRDs of the original’s %s are replaced by those of mcm during a rollout, and back again',
  async (release) => {
    const world = await World.start({ maxSurge: 1, furnish: (admin) => apply(admin, formOf(release)) });
    try {
      const deployments = world.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE);
      await world.createDeployment(3);
      await world.untilSettled(3, 'blue');
      await expectQuiet(world);
      // Objects that the CRDs of the original accept and the CRDs of mcm refuse.
      const odd = await deployments.create({
        metadata: { name: 'odd', namespace: NAMESPACE },
        spec: {
          replicas: 0,
          paused: true,
          selector: { matchLabels: { name: 'odd' } },
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '150%', maxUnavailable: 0 } },
          template: { metadata: { labels: { name: 'odd' } }, spec: { class: { kind: 'MachineClass', name: 'blue' } } },
        },
      });

      // The upgrade happens when the first new machine runs.
      await world.change({ template: { spec: { class: { name: 'green' } } } });
      await world.until(async () => (await classes(world)).includes('green'));
      await apply(world.admin, crds);
      await world.untilSettled(3, 'green');
      await expectQuiet(world);
      const stored = await deployments.get('odd');
      expect([stored.metadata.uid, stored.spec]).toEqual([odd.metadata.uid, odd.spec]);
      await deployments.patch('odd', { type: 'merge', body: { metadata: { labels: { seen: 'true' } } } });

      // The downgrade also happens during a rollout.
      const body = { spec: { autoPreserveFailedMachineMax: 1 } };
      await deployments.patch('workers', { type: 'merge', body });
      await world.change({ template: { spec: { class: { name: 'blue' } } } });
      expect((await deployments.get('workers')).spec.autoPreserveFailedMachineMax).toBe(1);
      await world.until(async () => (await classes(world)).includes('blue'));
      await apply(world.admin, formOf(release));
      await world.untilSettled(3, 'blue');
      await expectQuiet(world);
      const known = release === Object.keys(LACKING)[0];
      expect((await deployments.get('workers')).spec.autoPreserveFailedMachineMax).toBe(known ? 1 : undefined);

      const settled = await identities(world);
      await apply(world.admin, crds);
      await expectQuiet(world);
      expect(await identities(world)).toEqual(settled);
      await deployments.delete('odd');
      await world.until(async () => (await deployments.list()).items.length === 1);
      // Each machine of the three fleets was created only once.
      expect([(await identities(world)).length, world.vmsMade]).toEqual([3, 9]);
      expect(world.violations, world.reporter.tell()).toEqual([]);
    } finally {
      await world.close();
    }
  },
);
