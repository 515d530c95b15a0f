import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Machine, machineDeployments, machineSets, machines } from '@mcm/api';
import { controllerOf, type KubeObject, nodes, type ResourceDefinition } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { sharedResolver } from '@mcm/tools/bundles';
import { expect, test } from 'vitest';
import { parseHistory, type Recorded, type State } from '../golden/takeover/recordings/recording.ts';
import { ROOT } from '../harness/mcm.ts';
import { ofControllers } from '../harness/request-log.ts';
import { NAMESPACE, type Stack, startStack, until } from '../harness/stack.ts';

/** The real binaries continue a rollout that the original started. */

const PATIENCE_MS = 120_000;
const FILE = join(ROOT, 'e2e', 'testdata', 'takeover', 'roll.json');
const MIDDLE = 11;

const OWNERS: readonly ResourceDefinition<KubeObject>[] = [machineDeployments, machineSets];
const OWNED: readonly ResourceDefinition<KubeObject>[] = [nodes, machines];

const statusOf = (object: Recorded) => object.status as Machine['status'];
const ofKind = ({ objects }: State, kind: string): Recorded[] =>
  [...objects.values()].filter((object) => object.kind === kind);
const classOf = (machine: Recorded): string => (machine.spec as Machine['spec']).class.name ?? '';
const namesOf = (state: State): string[] => ofKind(state, 'Machine').map(({ metadata }) => metadata.name);

async function boot(stack: Stack, state: State): Promise<void> {
  const resource = stack.client.resource<Machine>(machines, NAMESPACE);
  for (const machine of ofKind(state, 'Machine')) {
    const { name } = machine.metadata;
    await resource.create({
      apiVersion: 'machine.sapcloud.io/v1alpha1',
      kind: 'Machine',
      metadata: { name, namespace: NAMESPACE },
      spec: { class: { kind: 'MachineClass', name: classOf(machine) } },
    });
  }
  await stack.machineController.start();
  for (const name of namesOf(state)) {
    const runs = ({ status }: Machine) => status?.currentStatus?.phase === 'Running';
    await until(stack.client, machines, name, runs, PATIENCE_MS);
  }
  await stack.machineController.stop();
}

function metadataHere({ metadata }: Recorded, uids: ReadonlyMap<string, string>) {
  const { labels, annotations, finalizers, ownerReferences = [] } = metadata;
  const owners = ownerReferences.map((owner) => ({ ...owner, uid: uids.get(owner.uid) ?? owner.uid }));
  return { labels, annotations, finalizers, ...(owners.length > 0 ? { ownerReferences: owners } : {}) };
}

async function put(stack: Stack, state: State): Promise<void> {
  const uids = new Map<string, string>();
  const at = (definition: ResourceDefinition<KubeObject>) =>
    definition.namespaced ? stack.client.resource(definition, NAMESPACE) : stack.client.resource(definition);
  for (const definition of OWNERS) {
    for (const object of ofKind(state, definition.kind)) {
      const metadata = { name: object.metadata.name, namespace: NAMESPACE, ...metadataHere(object, uids) };
      const made = await at(definition).create(partial<KubeObject>({ ...object, metadata }));
      uids.set(object.metadata.uid, made.metadata.uid);
      const body = { status: object.status };
      await at(definition).patch(object.metadata.name, { type: 'merge', body }, { subresource: 'status' });
    }
  }
  for (const definition of OWNED) {
    for (const object of ofKind(state, definition.kind)) {
      const { name, deletionTimestamp } = object.metadata;
      const { providerID: _other, ...spec } = object.spec as { providerID?: string };
      const body = { metadata: metadataHere(object, uids), spec };
      await at(definition).patch(name, { type: 'merge', body });
      if (definition.kind !== 'Machine') continue;
      await at(definition).patch(name, { type: 'merge', body: { status: object.status } }, { subresource: 'status' });
      if (deletionTimestamp) await at(definition).delete(name, { propagationPolicy: 'Background' });
    }
  }
}

test('the real binaries continue a rollout of the original: kept machines stay, and no machine is created twice', {
  timeout: PATIENCE_MS,
}, async () => {
  const { states } = parseHistory('roll.json', readFileSync(FILE, 'utf8'));
  const [state, end] = [states[MIDDLE], states.at(-1)];
  if (!state || !end) throw new Error('the recording is shorter than it was');
  const kept = namesOf(end).filter((name) => namesOf(state).includes(name));
  const phases = ofKind(state, 'Machine')
    .map((one) => `${classOf(one)} ${statusOf(one)?.currentStatus?.phase}`)
    .sort();
  expect(phases).toEqual(['large Running', 'large Running', 'small Running', 'small Terminating']);
  expect(kept).toHaveLength(2);

  const stack = await startStack({ resolve: await sharedResolver() });
  try {
    for (const name of ofKind(state, 'MachineClass').map(({ metadata }) => metadata.name)) await stack.makeClass(name);
    await boot(stack, state);
    await put(stack, state);
    const resource = stack.client.resource<Machine>(machines, NAMESPACE);
    const before = new Map((await resource.list()).items.map((one) => [one.metadata.name, one]));
    expect([...before.keys()].sort()).toEqual(namesOf(state).sort());

    await stack.startControllers();
    await until(
      stack.client,
      machineDeployments,
      'pool',
      ({ metadata, status }) =>
        status?.observedGeneration === metadata.generation && status?.updatedReplicas === 3 && status.replicas === 3,
      PATIENCE_MS,
    );
    await until(stack.client, machineSets, 'pool-6f576', ({ status }) => (status?.replicas ?? 0) === 0, PATIENCE_MS);
    const after = (await resource.list()).items;
    const set = await stack.client.resource(machineSets, NAMESPACE).get('pool-6c5df');
    expect(after.map(({ spec }) => spec.class.name)).toEqual(['large', 'large', 'large']);
    expect(after.every((one) => controllerOf(one)?.uid === set.metadata.uid)).toBe(true);
    for (const name of kept) {
      const [was, is] = [before.get(name), after.find(({ metadata }) => metadata.name === name)];
      expect([is?.metadata.uid, is?.spec.providerID]).toEqual([was?.metadata.uid, was?.spec.providerID]);
    }
    expect(stack.refused()).toEqual([]);
    if (!stack.isAudited) return;
    const made = stack.requests.read().filter((one) => one.verb === 'create' && one.resource === 'machines');
    expect(made.filter(ofControllers).map(({ code }) => code)).toEqual([201]);
  } finally {
    await stack.stop();
  }
});
