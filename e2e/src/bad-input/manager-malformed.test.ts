import {
  crds,
  type MachineClass,
  type MachineDeployment,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  createMemoryLogger,
  type KubeObject,
  type ResourceDefinition,
  seededRandom,
  VirtualClock,
} from '@mcm/kube';
import { malformations } from '@mcm/kube/testing';
import { createControllers, DEFAULT_SETTINGS } from '@mcm/machine-controller-manager';
import { expect, test } from 'vitest';

const NAMESPACE = 'default';

const OPEN = crds.map(({ spec, ...crd }) => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const versions = spec.versions.map(({ subresources, ...version }) => {
    // The API server itself requires integers in the fields of the scale subresource.
    const { scale: _, ...rest } = subresources ?? {};
    return { ...version, schema, subresources: rest };
  });
  return { ...crd, spec: { ...spec, versions } };
});

const kinds: readonly ResourceDefinition<KubeObject>[] = [machineDeployments, machineSets, machines];

test('malformed objects of all kinds, with a field missing, null or of another type, do not prevent the rollout of valid MachineDeployments', async () => {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const random = seededRandom(3);
  const plane = await startControlPlane({ clock, crds: OPEN, controllers: false });
  const client = createClient({ transport: plane.transport, userAgent: 'test', clock });
  const reported: string[] = [];
  const malformed = (object: KubeObject): void => void reported.push(object.metadata.name);
  const runtime = { clock, random, log, freeze: true, malformed };
  const { units } = createControllers(
    { control: client, target: client, namespace: NAMESPACE, runtime },
    DEFAULT_SETTINGS,
  );
  const held: string[] = [];
  for (const definition of kinds) {
    const all = [...malformations(definition.shape ?? {})].filter(
      ({ field }) => field.split('.').length <= 2 && !field.startsWith('status'),
    );
    const resource = client.resource(definition, NAMESPACE);
    const nameOf = (index: number): string => `${definition.kind.toLowerCase()}-${index}`;
    held.push(...all.flatMap(({ reported }, index) => (reported ? [nameOf(index)] : [])));
    await Promise.all(
      all.map(({ content }, index) => resource.create({ metadata: { name: nameOf(index) }, ...content } as never)),
    );
  }
  await client
    .resource<MachineClass>(machineClasses, NAMESPACE)
    .create({ metadata: { name: 'small' }, providerSpec: {} });
  const stop = new AbortController();
  const informers = new Set(units.flatMap((unit) => unit.informers));
  const running = [...informers, ...units].map((each) => each.run(stop.signal));
  const labels = { app: 'good' };
  await client.resource<MachineDeployment>(machineDeployments, NAMESPACE).create({
    metadata: { name: 'good' },
    spec: {
      replicas: 2,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
    },
  });
  await clock.advance(30_000);
  const made = (await client.resource(machines, NAMESPACE).list()).items;
  expect(made.filter(({ metadata }) => metadata.labels?.app === 'good')).toHaveLength(2);
  expect(reported.toSorted()).toEqual(held.toSorted());
  // For a malformed MachineDeployment, the controller neither creates nor deletes MachineSets.
  const sets = (await client.resource(machineSets, NAMESPACE).list()).items;
  const owners = [...made, ...sets].flatMap(({ metadata }) => metadata.ownerReferences?.map(({ name }) => name) ?? []);
  expect(owners.filter((name) => held.includes(name))).toEqual([]);
  const deployments = (await client.resource(machineDeployments, NAMESPACE).list()).items;
  const left = [...deployments, ...sets, ...made].map(({ metadata }) => metadata.name);
  expect(held.filter((name) => !left.includes(name))).toEqual([]);
  expect(log.lines.filter(({ message }) => /handler failed|index cannot|not be projected/.test(message))).toEqual([]);
  stop.abort(new Error('test over'));
  await Promise.all(running);
  await plane.close();
});
