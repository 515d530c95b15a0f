import { type Machine, type MachineSet, machineSets, machines } from '@mcm/api';
import { machineTokenId } from '@mcm/core';
import {
  type Clock,
  controllerOf,
  createInformer,
  defined,
  type Informer,
  type InformerRuntime,
  type KubeClient,
  type KubeObject,
} from '@mcm/kube';
import type { MachineConfigPool, MachineRef } from '../kinds/machine-config-pool.ts';

export interface MachineTokens {
  isOf(pool: MachineConfigPool, tokenId: string): Promise<boolean>;
}

/** The caches for the lookup of machines by token. */
export interface TokenCaches {
  readonly machines: Informer<Machine>;
  readonly sets: Informer<MachineSet>;
}

const TOKEN = 'token';

/** Keeps only the fields that identify an object and its owners, to save memory. */
const bare = ({ apiVersion, kind, metadata }: KubeObject): KubeObject => {
  const { name, namespace, uid, resourceVersion, creationTimestamp, ownerReferences } = metadata;
  return {
    apiVersion,
    kind,
    metadata: defined({
      name,
      uid,
      resourceVersion,
      creationTimestamp,
      namespace,
      ownerReferences,
    }),
  };
};

/** Creates the caches of machines and sets, with only their names and owners. */
export const createTokenCaches = (client: KubeClient, runtime: InformerRuntime): TokenCaches => ({
  machines: createInformer(client, machines, {
    ...runtime,
    project: (machine) => bare(machine) as Machine,
    indexes: { [TOKEN]: (machine) => [machineTokenId(machine)] },
  }),
  sets: createInformer(client, machineSets, { ...runtime, project: (set) => bare(set) as MachineSet }),
});

interface Fleet {
  machinesOf(tokenId: string): readonly Machine[];
  setOf(uid: string, name: string): MachineSet | undefined;
}

interface FleetList extends Fleet {
  readonly at: number;
}

/**
 * The time for which the server uses a list of machines. If a thousand machines boot at the same time, one list of
 * machines is sufficient.
 */
const KEPT_MS = 2000;

/** Returns the objects that a pool refers to. */
export const referencesOf = ({ spec }: MachineConfigPool): readonly MachineRef[] => [
  ...(spec?.machineRef ? [spec.machineRef] : []),
  ...(spec?.machineRefs ?? []),
];

/**
 * Finds the machine of a bootstrap token. The ID of the token is a digest of the machine's UID, so the server reads no
 * Secret.
 */
export function createMachineTokens(client: KubeClient, clock: Clock, caches?: TokenCaches): MachineTokens {
  const fleets = new Map<string, Promise<FleetList>>();
  const read = async (namespace: string): Promise<FleetList> => {
    const [all, sets] = await Promise.all([
      client.resource(machines, namespace).list(),
      client.resource(machineSets, namespace).list(),
    ]);
    return {
      at: clock.now().getTime(),
      machinesOf: (tokenId) => all.items.filter((machine) => machineTokenId(machine) === tokenId),
      setOf: (uid) => sets.items.find(({ metadata }) => metadata.uid === uid),
    };
  };
  const fleetOf = async (namespace: string, newerThan: number): Promise<FleetList> => {
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
  const isInList = async (reference: MachineRef, tokenId: string, now: number): Promise<boolean> =>
    owns(reference, await fleetOf(reference.namespace, now - KEPT_MS), tokenId) ||
    // The machine may be newer than the list, so the server reads a new list.
    owns(reference, await fleetOf(reference.namespace, now - 1), tokenId);
  return {
    async isOf(pool, tokenId) {
      const now = clock.now().getTime();
      const references = referencesOf(pool);
      if (caches && references.some((reference) => owns(reference, cached(caches, reference.namespace), tokenId)))
        return true;
      // The owner of a machine does not change, so the result of the caches is final.
      if (caches && isFollowed(caches, tokenId)) return false;
      for (const reference of references) if (await isInList(reference, tokenId, now)) return true;
      return false;
    },
  };
}

const cached = ({ machines: all, sets }: TokenCaches, namespace: string): Fleet => ({
  machinesOf: (tokenId) => all.store.byIndex(TOKEN, tokenId).filter(({ metadata }) => metadata.namespace === namespace),
  setOf(uid, name) {
    const set = sets.store.get(`${namespace}/${name}`);
    return set?.metadata.uid === uid ? set : undefined;
  },
});

function isFollowed(caches: TokenCaches, tokenId: string): boolean {
  const [machine] = caches.machines.store.byIndex(TOKEN, tokenId);
  const owner = machine && controllerOf(machine);
  if (owner?.kind !== 'MachineSet') return machine !== undefined;
  return cached(caches, machine?.metadata.namespace ?? '').setOf(owner.uid, owner.name) !== undefined;
}

function owns({ kind, name }: MachineRef, fleet: Fleet, tokenId: string): boolean {
  return fleet.machinesOf(tokenId).some((machine) => {
    const owner = controllerOf(machine);
    if (owner?.kind !== 'MachineSet') return false;
    if (kind === 'MachineSet') return owner.name === name;
    const set = fleet.setOf(owner.uid, owner.name);
    const deployment = set && controllerOf(set);
    return deployment?.kind === 'MachineDeployment' && deployment.name === name;
  });
}
