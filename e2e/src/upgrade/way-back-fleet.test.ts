import { Annotations } from '@mcm/api';
import { expect, test } from 'vitest';
import { ALTERNATIVES } from '../simulation/verifiers/capacity-verifier.ts';
import { DriftVerifier } from '../simulation/verifiers/drift-verifier.ts';
import { ZONE_LIST } from '../simulation/verifiers/zone-verifier.ts';
import type { World } from '../simulation/world/world.ts';
import { type Feature, goAndReturn, MINUTE, REPLICAS } from './way-back.ts';

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

test.each(Object.entries(FEATURES))(
  'the original takes a fleet with %s back, and mcm takes over again',
  async (_name, feature) => {
    await goAndReturn(feature);
  },
);
