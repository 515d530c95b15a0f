import { Labels, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { WantedCondition } from '../conditions/conditions.ts';
import { isReady } from '../conditions/predicates.ts';
import { compareBytes } from '../config/order.ts';
import { PoolConditions } from '../constants/conditions.ts';
import type { MachineConfigPool, MachineConfigPoolStatus, MachineRef } from '../kinds/machine-config-pool.ts';
import { referencesOf } from '../server/machines.ts';
import { type MachineFleet, nodeNameOf, type ResolvedRef } from './fleet.ts';
import { claimedTemplates } from './node-template.ts';

/** What a pool's references come to. */
export interface PoolMembers {
  readonly nodes: readonly Node[];
  readonly refs: readonly { readonly ref: MachineRef; readonly found: ResolvedRef | undefined }[];
  readonly machines: readonly Machine[];
  /** Machines by the node that they are. */
  readonly machineOf: ReadonlyMap<string, Machine>;
  /** Some reference leads nowhere. */
  readonly unresolved: boolean;
  /** Slots of maxUnavailable that machines take which no node counts for. */
  readonly reserved: number;
  /** Machines that are asked for: more can never be unavailable at once. */
  readonly replicas: number;
  /** Names of sets that the safety controller froze. */
  readonly frozen: readonly string[];
  readonly problems: readonly string[];
  /** Why templates of machines are refused, one sentence each: nobody is told or replaced as long as they are there. */
  readonly refused: readonly string[];
}

const AWAY = new Set(['', 'Pending', 'Unknown', 'Failed', 'Terminating', 'CrashLoopBackOff']);
const phaseOf = ({ status }: Machine): string => status?.currentStatus?.phase ?? '';

/**
 * Finds nodes and machines of a pool over machines. A machine that two pools refer to is in neither.
 * @param nodeOf the node of a name
 * @returns undefined for a pool that selects nodes
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
      // While one machine replaces another of its name, the one that stays is the node's.
      const other = machineOf.get(node.metadata.name);
      if (!other) nodes.push(node);
      if (!other?.metadata.deletionTimestamp || !machine.metadata.deletionTimestamp) {
        machineOf.set(node.metadata.name, other && machine.metadata.deletionTimestamp ? other : machine);
      }
    }
    if (!node && AWAY.has(phaseOf(machine))) reserved += 1;
    // A node that still looks ready, of a machine that is kept for somebody to look at, is none to count on.
    if (node && isReady(node) && phaseOf(machine) === 'Failed') reserved += 1;
  }
  return {
    ...{ nodes, refs, machines, machineOf, reserved, problems: problems.toSorted(compareBytes) },
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
    .join(', ')} by reference, cannot proceed with it: ` +
  'let one of their machineRefs name it';

/** Whether a machine's node may be told a target: not while its machine goes away or is worked on by others. */
export function isSteady({ metadata, status }: Machine): boolean {
  const phase = status?.currentStatus?.phase ?? '';
  return metadata.deletionTimestamp === undefined && !['Terminating', 'Failed', 'InPlaceUpdating'].includes(phase);
}

/** What the members add to the status. */
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

/** What is said of the references of a pool. */
export type MemberCondition = Extract<WantedCondition, { type: 'MachineRefResolved' }>;

/** Whether all references lead somewhere, to templates that may be, and every machine is one pool's. */
export function memberCondition({ refs, problems, refused }: PoolMembers): MemberCondition {
  const type = PoolConditions.MachineRefResolved;
  const missing = refs.filter(({ found }) => !found).map(({ ref }) => `${ref.kind} ${ref.namespace}/${ref.name}`);
  if (missing.length > 0) {
    const message = `${missing.join(', ')} not found: create it, or take it out of machineRefs`;
    return { type, status: 'False', reason: 'NotFound', message };
  }
  if (refused.length > 0) return { type, status: 'False', reason: 'Forbidden', message: refused.join('; ') };
  const [problem] = problems;
  if (problem !== undefined) return { type, status: 'False', reason: 'Ambiguous', message: problem };
  return { type, status: 'True', reason: 'Found' };
}
