import { Labels } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { withoutUndefined } from '@mcm/kube';
import { PoolConditions } from '../constants/conditions.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { claimsOf, type MachineFleet } from '../machines/fleet.ts';
import {
  isSteady,
  type MemberCondition,
  memberCondition,
  memberStatus,
  membersOf,
  type PoolMembers,
} from '../machines/members.ts';
import { evaluateStrategy, hasApplied, keepsMachines } from '../machines/replace.ts';
import { referencesOf } from '../server/machines.ts';

import { nodesOfPool } from './membership.ts';
import type { CandidateFilter, PoolSnapshot } from './model/snapshot.ts';
import { postponedNodes } from './rollout/windows.ts';

/** The caches and functions that provide the data about a pool. */
export interface PoolSources {
  readonly pools: readonly MachineConfigPool[];
  /** Returns all nodes that the pool selects. */
  readonly nodesNear: (pool: MachineConfigPool) => readonly Node[];
  readonly node: (name: string) => Node | undefined;
  readonly controllerConfig: ControllerConfig | undefined;
  readonly machineConfig: (name: string) => MachineConfig | undefined;
  readonly fleet?: MachineFleet | undefined;
  readonly refusal?: string | undefined;
}

/** Data about a pool that its objects do not contain. */
export interface SnapshotOptions {
  readonly now: string;
  readonly filters?: readonly CandidateFilter[] | undefined;
  readonly haltAt?: number | undefined;
}

/** Collects the input of `planPool` for a pool. */
export function poolSnapshot(
  pool: MachineConfigPool,
  { pools, nodesNear, node, controllerConfig, machineConfig, fleet, refusal }: PoolSources,
  { now, filters = [], haltAt }: SnapshotOptions,
): PoolSnapshot {
  const members = refusal === undefined ? fleet && membersOf(pool, pools, fleet, node) : undefined;
  const selected = referencesOf(pool).length > 0 ? [] : nodesNear(pool);
  const own = members ?? nodesOfPool(pool, selected, pools, fleet && claimsOf(fleet, pools));
  return {
    pool,
    pools,
    nodes: own.nodes,
    claims: own.problems,
    controllerConfig,
    machineConfig,
    now,
    ...memberFacts(pool, members, machineConfig, refusal),
    filters: [
      ...filters,
      postponedNodes(new Date(now)),
      ...(members ? [steadyOnly(members)] : []),
      ...unclear(pools, refusal),
    ],
    ...withoutUndefined({ haltAt }),
  };
}

const NOT_FOLLOWED: MemberCondition = {
  type: PoolConditions.MachineRefResolved,
  status: 'False',
  reason: 'NotFollowed',
  message: 'references to machines are not supported: start the controller with --machine-pools',
};

/**
 * Returns the reason why the nodes of the pool are unknown. If the controller cannot read machines, another pool may
 * refer to the machine of a node.
 */
function unclear(pools: readonly MachineConfigPool[], refusal: string | undefined): readonly CandidateFilter[] {
  if (refusal === undefined || pools.every((pool) => referencesOf(pool).length === 0)) return [];
  const isMachine = ({ metadata }: Node): boolean => metadata.labels?.[Labels.MachineName] !== undefined;
  return [(_pool, candidates) => candidates.filter(isMachine).map((node) => ({ node }))];
}

function memberFacts(
  pool: MachineConfigPool,
  members: PoolMembers | undefined,
  machineConfig: (name: string) => MachineConfig | undefined,
  refusal: string | undefined,
): Partial<PoolSnapshot> {
  if (!members) {
    const said: MemberCondition =
      refusal === undefined ? NOT_FOLLOWED : { ...NOT_FOLLOWED, reason: 'Forbidden', message: refusal };
    return referencesOf(pool).length > 0 ? { unresolved: true, memberConditions: [said] } : {};
  }
  const { nodes: own, unresolved, reserved, replicas, frozen, refused } = members;
  const names = new Set(own.map(({ metadata }) => metadata.name));
  const { replaces, condition } = evaluateStrategy(pool, own, machineConfig);
  return {
    targetsNew: true,
    unconfigured: new Set([...members.machineOf].flatMap(([name, machine]) => (hasApplied(machine) ? [] : [name]))),
    unresolved: unresolved || refused.length > 0,
    reserved,
    replicas,
    replaces,
    members: memberStatus(members, names),
    memberConditions: [
      { ...memberCondition(members), ...(replaces && (keptMachines(members) ?? bareSets(members))) },
      ...(condition ? [condition] : []),
    ],
    frozen:
      refused.length > 0
        ? refused.join('; ')
        : frozen.length > 0
          ? `MachineSet ${frozen.join(', ')} is frozen`
          : undefined,
  };
}

function keptMachines({
  refs,
  unresolved,
  problems,
  refused,
}: PoolMembers): Pick<MemberCondition, 'status' | 'reason' | 'message'> | undefined {
  const kept = refs.filter(({ found }) => found?.deployment && keepsMachines(found.deployment));
  if (kept.length === 0 || unresolved || problems.length > 0 || refused.length > 0) return undefined;
  const names = kept.map(({ ref }) => `${ref.namespace}/${ref.name}`).join(', ');
  return {
    status: 'False',
    reason: 'Forbidden',
    message:
      `MachineDeployment ${names} replaces no machine: its spec.strategy.type is InPlaceUpdate. Set the type to RollingUpdate or ` +
      'Recreate, or set updateStrategy of the pool to InPlace',
  };
}

function bareSets({ refs, unresolved, problems, refused }: PoolMembers): { readonly message: string } | undefined {
  const bare = refs.filter(({ found }) => found && !found.deployment).map(({ ref }) => `${ref.namespace}/${ref.name}`);
  if (bare.length === 0 || unresolved || problems.length > 0 || refused.length > 0) return undefined;
  return {
    message:
      `MachineSet ${bare.join(', ')} replaces no machine: only machines that the MachineSet creates later get the target. ` +
      'Refer to a MachineDeployment instead',
  };
}

const steadyOnly =
  ({ machineOf }: PoolMembers): CandidateFilter =>
  (_pool, candidates) =>
    candidates.flatMap((node) => {
      const machine = machineOf.get(node.metadata.name);
      const selected = node.metadata.labels?.[Labels.SelectedForUpdate] !== undefined;
      return machine && isSteady(machine) && !selected ? [] : [{ node }];
    });
