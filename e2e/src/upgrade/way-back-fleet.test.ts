import { Annotations, machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import type { KubeObject } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ALTERNATIVES } from '../simulation/verifiers/capacity-verifier.ts';
import { DriftVerifier } from '../simulation/verifiers/drift-verifier.ts';
import { ZONE_LIST } from '../simulation/verifiers/zone-verifier.ts';
import { NAMESPACE, World, type WorldOptions } from '../simulation/world/world.ts';

/**
 * The original ignores the annotations of mcm. For the original, a fleet of mcm is therefore a fleet without these
 * annotations. In these tests, mcm without the annotations represents the original, and takes a fleet back.
 */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const REPLICAS = 3;

/** The keys of settings and records that the original does not know. */
const OURS = [
  /^(capacity|zones|warm|rollout|autoscaler|orphan)\.machine\.sapcloud\.io\//,
  /(^|\.)hook\.machine\.sapcloud\.io\//,
  /^node\.machine\.sapcloud\.io\/(hooks|hooks-begun|interruption|drift-policy|drain-rules|undrainable-policy|deletion-cause)$/,
];

const KINDS = [machineDeployments, machineSets, machines, machineClasses];

/** Removes the annotations from all objects, as if the original read the objects. */
async function forget({ admin }: World): Promise<number> {
  let count = 0;
  for (const definition of KINDS) {
    const resource = admin.resource<KubeObject>(definition as never, NAMESPACE);
    for (const { metadata } of (await resource.list()).items) {
      const ours = Object.keys(metadata.annotations ?? {}).filter((key) => OURS.some((own) => own.test(key)));
      count += ours.length;
      const annotations = Object.fromEntries(ours.map((key) => [key, null]));
      await resource.patch(metadata.name, { type: 'merge', body: { metadata: { annotations } } });
    }
  }
  return count;
}

interface Feature {
  readonly options: WorldOptions;
  /** A fault of the cloud before the first machine exists. */
  readonly before?: (world: World) => void;
  /** Changes the complete fleet, and leaves work for the original. */
  readonly act?: (world: World) => Promise<void>;
  /** The class of all machines at the end. The default is `blue`. */
  readonly endsWith?: string;
  /** The number of machines that the original may replace. The default is 0. */
  readonly replaced?: number;
}

const roll = async (world: World): Promise<void> => {
  await world.change({ template: { spec: { class: { name: 'green' } } } });
  await world.clock.advance(10 * MINUTE);
  const classes = (await world.machines()).map(({ spec }) => spec.class.name);
  expect(classes, 'the rollout waits').toContain('blue');
};

const deleteOne = async (world: World): Promise<void> => {
  const [machine] = await world.machines();
  await world.deleteMachine(machine?.metadata.name ?? '');
  await world.clock.advance(10 * MINUTE);
  const names = (await world.machines()).map(({ metadata }) => metadata.name);
  expect(names, 'the deletion waits').toContain(machine?.metadata.name);
};

const FEATURES: Readonly<Record<string, Feature>> = {
  'capacity alternatives': {
    options: { classAnnotations: { [Annotations.CapacityAlternatives]: ALTERNATIVES } },
    before: ({ cloud }) => {
      const error = { code: 'InsufficientCapacity' };
      cloud.faults.order({ operation: 'instances.create', zone: 'local-a', error });
    },
  },
  zones: { options: { annotations: { [Annotations.Zones]: ZONE_LIST, [Annotations.ZonesMaxUnavailable]: '1' } } },
  'the evacuation of a zone': {
    options: { annotations: { [Annotations.Zones]: ZONE_LIST } },
    act: async (world) => {
      await world.annotate({ [Annotations.ZonesEvacuated]: '["local-a"]' });
      await world.untilSettled(REPLICAS, 'blue');
    },
  },
  'a closed window': {
    options: { annotations: { [Annotations.RolloutWindows]: '0 0 29 2 * UTC 1h' } },
    act: roll,
    endsWith: 'green',
    replaced: REPLICAS,
  },
  'the soak time of a canary': {
    options: { annotations: { [Annotations.RolloutCanary]: '1', [Annotations.RolloutCanarySoak]: '100h' } },
    act: roll,
    endsWith: 'green',
    replaced: REPLICAS,
  },
  'a hook without an answer': {
    options: { classAnnotations: { [Annotations.Hooks]: 'before-delete backup owner 100h Block' } },
    act: deleteOne,
    replaced: 1,
  },
  'node groups of an autoscaler': {
    options: { annotations: { [Annotations.AutoscalerMinSize]: '1', [Annotations.AutoscalerMaxSize]: '5' } },
  },
  'the policy for changed Nodes': {
    options: { classAnnotations: { ...DriftVerifier.classAnnotations, [Annotations.UndrainablePolicy]: 'Hold' } },
  },
};

test.each(Object.entries(FEATURES))('the original takes a fleet with %s back', async (_name, feature) => {
  const { options, before, act, endsWith = 'blue', replaced = 0 } = feature;
  const world = await World.start({ maxSurge: 1, ...options });
  try {
    before?.(world);
    await world.createDeployment(REPLICAS);
    await world.untilSettled(REPLICAS, 'blue');
    await act?.(world);
    world.cloud.faults.clear();
    const uids = new Set((await world.machines()).map(({ metadata, spec }) => `${metadata.uid} ${spec.providerID}`));
    const made = world.vmsMade;

    for (const name of ['manager', 'machine-controller'] as const) world.kill(name);
    expect(await forget(world)).toBeGreaterThan(0);
    await world.untilSettled(REPLICAS, endsWith, 2 * HOUR);
    await world.clock.advance(HOUR);
    await world.untilSettled(REPLICAS, endsWith, 1);

    const kept = (await world.machines()).filter(({ metadata, spec }) =>
      uids.has(`${metadata.uid} ${spec.providerID}`),
    );
    expect(REPLICAS - kept.length).toBeLessThanOrEqual(replaced);
    expect(world.vmsMade - made).toBeLessThanOrEqual(replaced);
    expect(world.violations).toEqual([]);
    const quiet = world.writes.length;
    await world.clock.advance(10 * MINUTE);
    expect(world.writes.slice(quiet)).toEqual([]);
  } finally {
    await world.close();
  }
});
