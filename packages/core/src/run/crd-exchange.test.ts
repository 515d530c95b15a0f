import { Annotations, crds, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { isNotFound, type KubeObject, type ResourceDefinition, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const MINUTE = 60_000;
const CRD = 'machines.machine.sapcloud.io';

const definitions: ResourceDefinition<KubeObject & { spec: object }> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

/** With an open watch, the controller would treat the deletions of the Machines as deletions by a user. */
async function started(count: number) {
  let isAway = false;
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      if (isAway) throw new Error('connect ECONNREFUSED');
      return transport(request);
    };
  const rig = await startRig({ wrap, eventTtlMs: 0 });
  const names = Array.from({ length: count }, (_, index) => `m-${index}`);
  for (const name of names) await rig.createMachine(name);
  await rig.until(async () => {
    const phases = await Promise.all(names.map((name) => rig.phase(name)));
    return phases.every((phase) => phase === 'Running');
  });
  const away = (value: boolean): void => {
    isAway = value;
  };
  return { rig, names, away };
}

async function deleteCrd(rig: Rig, names: readonly string[]): Promise<void> {
  await rig.admin.resource(definitions).delete(CRD);
  for (const name of names) {
    const client = rig.admin.resource<Machine>(machines, NAMESPACE);
    await client.patch(name, { type: 'merge', body: { metadata: { finalizers: null } } });
  }
  await rig.until(async () => {
    try {
      await rig.admin.resource(definitions).get(CRD);
      return false;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return true;
    }
  });
}

async function createCrd(rig: Rig): Promise<void> {
  const definition = crds.find(({ metadata }) => metadata.name === CRD);
  if (!definition) throw new Error(`there is no CRD ${CRD}`);
  await rig.admin.resource(definitions).create(definition);
}

const quarantined = async (rig: Rig): Promise<string> => {
  const { metadata } = await rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).get('small');
  return metadata.annotations?.[Annotations.QuarantinedVMs] ?? '';
};

test('a machine controller survives the exchange of the CRD, and keeps the VMs of the deleted Machines', async () => {
  const { rig, names, away } = await started(4);
  const before = rig.cloud.vms;
  away(true);
  await deleteCrd(rig, names);
  away(false);
  // The API server does not serve Machines, so mcm cannot list the Machines to confirm an orphan.
  await rig.clock.advance(30 * MINUTE);
  expect(rig.cloud.vms).toEqual(before);
  await createCrd(rig);
  await rig.clock.advance(60 * MINUTE);
  expect(rig.cloud.vms).toEqual(before);
  expect((await rig.nodes()).filter(({ spec }) => spec.unschedulable)).toEqual([]);
  expect((await quarantined(rig)).split(',').toSorted()).toEqual(before.map(({ providerId }) => providerId).toSorted());
  for (const name of names) await rig.createMachine(name);
  await rig.until(async () => {
    const phases = await Promise.all(names.map((name) => rig.phase(name)));
    return phases.every((phase) => phase === 'Running');
  });
  await rig.clock.advance(20 * MINUTE);
  expect([rig.cloud.vms, await quarantined(rig), rig.cloud.calls.create]).toEqual([before, '', names.length]);
});
