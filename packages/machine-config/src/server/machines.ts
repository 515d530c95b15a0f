import { type Machine, type MachineSet, machineSets, machines } from '@mcm/api';
import { machineTokenId } from '@mcm/core';
import { type Clock, controllerOf, type KubeClient } from '@mcm/kube';
import type { MachineConfigPool, MachineRef } from '../kinds/machine-config-pool.ts';

/** Tells whose machine a bootstrap token was made for. */
export interface MachineTokens {
  /** Whether the token's machine belongs to one of the objects that a pool refers to. */
  isOf(pool: MachineConfigPool, tokenId: string): Promise<boolean>;
}

interface Fleet {
  readonly at: number;
  readonly machines: readonly Machine[];
  readonly sets: readonly MachineSet[];
}

/** A thousand machines that boot together are one list. */
const KEPT_MS = 2000;

/** The objects that a pool refers to. */
export const referencesOf = ({ spec }: MachineConfigPool): readonly MachineRef[] => [
  ...(spec?.machineRef ? [spec.machineRef] : []),
  ...(spec?.machineRefs ?? []),
];

/**
 * Reads machines when a token of theirs is shown, and keeps them for two seconds. The id of a machine's token is a digest
 * of its UID, so that no Secret has to be read; who owns it is followed by owner references, never by names.
 */
export function createMachineTokens(client: KubeClient, clock: Clock): MachineTokens {
  const fleets = new Map<string, Promise<Fleet>>();
  const read = async (namespace: string): Promise<Fleet> => {
    const [all, sets] = await Promise.all([
      client.resource(machines, namespace).list(),
      client.resource(machineSets, namespace).list(),
    ]);
    return { at: clock.now().getTime(), machines: all.items, sets: sets.items };
  };
  const fleetOf = async (namespace: string, newerThan: number): Promise<Fleet> => {
    const known = fleets.get(namespace);
    if (known) {
      const fleet = await known.catch(() => undefined);
      if (fleet && fleet.at > newerThan) return fleet;
      if (fleets.get(namespace) !== known) return fleetOf(namespace, newerThan);
    }
    const reading = read(namespace);
    fleets.set(namespace, reading);
    return reading;
  };
  return {
    async isOf(pool, tokenId) {
      const now = clock.now().getTime();
      for (const reference of referencesOf(pool)) {
        if (owns(reference, await fleetOf(reference.namespace, now - KEPT_MS), tokenId)) return true;
        // It may have been made since: what is older than this request is read again.
        if (owns(reference, await fleetOf(reference.namespace, now - 1), tokenId)) return true;
      }
      return false;
    },
  };
}

function owns({ kind, name }: MachineRef, fleet: Fleet, tokenId: string): boolean {
  return fleet.machines.some((machine) => {
    if (machineTokenId(machine) !== tokenId) return false;
    const owner = controllerOf(machine);
    if (owner?.kind !== 'MachineSet') return false;
    if (kind === 'MachineSet') return owner.name === name;
    const set = fleet.sets.find(({ metadata }) => metadata.uid === owner.uid);
    const deployment = set && controllerOf(set);
    return deployment?.kind === 'MachineDeployment' && deployment.name === name;
  });
}
