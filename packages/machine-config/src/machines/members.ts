import { Labels, type Machine, phaseOf } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { WantedCondition } from '../conditions/conditions.ts';
import { isReady } from '../conditions/predicates.ts';
import { compareBytes } from '../config/order.ts';
import { PoolConditions } from '../constants/conditions.ts';
import type { MachineConfigPool, MachineConfigPoolStatus } from '../kinds/machine-config-pool.ts';
import { referencesOf } from '../server/machines.ts';
import { type MachineFleet, nodeNameOf, type PoolRef } from './fleet.ts';
import { claimedTemplates } from './node-template.ts';

/** The nodes and machines of a pool that refers to machines. */
export interface PoolMembers {
  readonly nodes: readonly Node[];
  readonly refs: readonly PoolRef[];
  readonly machines: readonly Machine[];
  readonly machineOf: ReadonlyMap<string, Machine>;
  readonly unresolved: boolean;
  /** The number of machines that count towards maxUnavailable, although no unavailable node represents them. */
  readonly reserved: number;
  /** The number of replicas, which limits the number of unavailable nodes. */
  readonly replicas: number;
  /** Names of MachineSets that are frozen because they have too many machines. */
  readonly frozen: readonly string[];
  readonly problems: readonly string[];
  /** While the controller refuses a template, no node gets a target, and mcm replaces no machine. */
  readonly refused: readonly string[];
}

const AWAY = new Set(['', 'Pending', 'Unknown', 'Failed', 'Terminating', 'CrashLoopBackOff']);
/**
 * Finds the nodes and machines of a pool that refers to machines. A machine to which two pools refer belongs to no
 * pool.
 */
export function membersOf(
  pool: MachineConfigPool,
  pools: readonly MachineConfigPool[],
  fleet: MachineFleet,
  nodeOf: (name: string) => Node | undefined,
): PoolMembers | undefined {
  const references = referencesOf(pool);
  if (references.length === 0) return undefined;
  const refs = references.map((ref) => ({ ref, found: fleet.resolve(ref) }));
  const problems: string[] = [];
  const machineOf = new Map<string, Machine>();
  const nodes: Node[] = [];
  const machines = [...new Set(refs.flatMap(({ found }) => found?.machines ?? []))];
  let reserved = 0;
  for (const machine of machines) {
    const claiming = fleet.poolsOf(machine, pools);
    if (claiming.length > 1) {
      problems.push(ambiguous(machine, claiming));
      continue;
    }
    const node = nodeNameOf(machine) === '' ? undefined : nodeOf(nodeNameOf(machine));
    if (node) {
      const other = machineOf.get(node.metadata.name);
      if (!other) nodes.push(node);
      if (!other?.metadata.deletionTimestamp || !machine.metadata.deletionTimestamp) {
        machineOf.set(node.metadata.name, other && machine.metadata.deletionTimestamp ? other : machine);
      }
    }
    if (!node && AWAY.has(phaseOf(machine) ?? '')) reserved += 1;
    if (node && isReady(node) && phaseOf(machine) === 'Failed') reserved += 1;
  }
  return {
    nodes,
    refs,
    machines,
    machineOf,
    reserved,
    problems: problems.toSorted(compareBytes),
    unresolved: refs.some(({ found }) => !found),
    refused: claimedTemplates(refs),
    replicas: refs.reduce((sum, { found }) => sum + (found?.replicas ?? 0), 0),
    frozen: refs.flatMap(({ found }) =>
      (found?.sets ?? [])
        .filter(isFrozen)
        .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
        .toSorted(compareBytes),
    ),
  };
}

const isFrozen = ({ metadata }: { metadata: { labels?: Record<string, string> } }): boolean =>
  metadata.labels?.[Labels.Freeze] === 'True';

const ambiguous = ({ metadata }: Machine, pools: readonly MachineConfigPool[]): string =>
  `machine ${metadata.namespace}/${metadata.name} belongs to the pools ` +
  `${pools
    .map((pool) => pool.metadata.name)
    .toSorted()
    .join(', ')} by reference, cannot proceed with this machine. ` +
  'Refer to the machine in machineRefs of one pool only';

/**
 * Returns true if the node of a machine can get a target. A machine that is being deleted or changed by another
 * controller gets no target.
 */
export function isSteady({ metadata, status }: Machine): boolean {
  const phase = status?.currentStatus?.phase ?? '';
  return metadata.deletionTimestamp === undefined && !['Terminating', 'Failed', 'InPlaceUpdating'].includes(phase);
}

/** Returns the status fields with the numbers of machines and nodes of a pool. */
export function memberStatus(
  { refs, machines, machineOf }: PoolMembers,
  nodeNames: ReadonlySet<string>,
): Partial<MachineConfigPoolStatus> {
  const has = (machine: Machine): boolean => nodeNames.has(nodeNameOf(machine)) && machineOf.has(nodeNameOf(machine));
  return {
    pendingMachineCount: machines.filter((machine) => !has(machine)).length,
    machineRefs: refs.map(({ ref: { kind, namespace, name }, found }) => {
      const own = found?.machines ?? [];
      const nodes = own.filter(has).length;
      return { kind, namespace, name, machines: own.length, nodes, pending: own.length - nodes };
    }),
  };
}

export type MemberCondition = Extract<WantedCondition, { type: 'MachineRefResolved' }>;

/**
 * Returns the condition of the members: all referenced objects must exist, their templates must be allowed, and every
 * machine must belong to one pool.
 */
export function memberCondition({ refs, problems, refused }: PoolMembers): MemberCondition {
  const type = PoolConditions.MachineRefResolved;
  const missing = refs.filter(({ found }) => !found).map(({ ref }) => `${ref.kind} ${ref.namespace}/${ref.name}`);
  if (missing.length > 0) {
    const message = `${missing.join(', ')} not found: create the object, or remove the reference from machineRefs`;
    return { type, status: 'False', reason: 'NotFound', message };
  }
  if (refused.length > 0) return { type, status: 'False', reason: 'Forbidden', message: refused.join('; ') };
  const [problem] = problems;
  if (problem !== undefined) return { type, status: 'False', reason: 'Ambiguous', message: problem };
  return { type, status: 'True', reason: 'Found' };
}
