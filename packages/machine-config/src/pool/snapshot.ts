import { Labels } from '@mcm/api';
import type { Node } from '@mcm/kube';
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
import { hasApplied, judgeStrategy, keepsMachines } from '../machines/replace.ts';
import { referencesOf } from '../server/machines.ts';

import { nodesOfPool } from './membership.ts';
import type { CandidateFilter, PoolSnapshot } from './plan.ts';

/** Where what a pool is planned from is looked up. */
export interface PoolSources {
  readonly pools: readonly MachineConfigPool[];
  /** Nodes among which are all that a pool's selector selects. */
  readonly nodesNear: (pool: MachineConfigPool) => readonly Node[];
  readonly node: (name: string) => Node | undefined;
  readonly controllerConfig: ControllerConfig | undefined;
  readonly machineConfig: (name: string) => MachineConfig | undefined;
  /** Absent: machines are not followed. */
  readonly fleet?: MachineFleet;
  /** Why machines cannot be looked at: what a role lacks. */
  readonly refusal?: string;
}

/** What of a look does not come from objects. */
export interface SnapshotOptions {
  /** RFC 3339. */
  readonly now: string;
  readonly filters?: readonly CandidateFilter[];
  readonly haltAt?: number;
}

/** Everything that `planPool` decides upon. Pure. */
export function poolSnapshot(
  pool: MachineConfigPool,
  { pools, nodesNear, node, controllerConfig, machineConfig, fleet, refusal }: PoolSources,
  { now, filters = [], haltAt }: SnapshotOptions,
): PoolSnapshot {
  const members = refusal === undefined ? fleet && membersOf(pool, pools, fleet, node) : undefined;
  const selected = referencesOf(pool).length > 0 ? [] : nodesNear(pool);
  const own = members ?? nodesOfPool(pool, selected, pools, fleet && claimsOf(fleet, pools));
  return {
    ...{ pool, pools, nodes: own.nodes, claims: own.problems, controllerConfig, machineConfig, now },
    ...memberFacts(pool, members, machineConfig, refusal),
    filters: [...filters, ...(members ? [steadyOnly(members)] : []), ...unclear(pools, refusal)],
    ...(haltAt !== undefined && { haltAt }),
  };
}

const NOT_FOLLOWED: MemberCondition = {
  ...{ type: PoolConditions.MachineRefResolved, status: 'False', reason: 'NotFollowed' },
  message: 'machines are not followed: start the controller with --machine-pools',
};

/** As long as nobody can say whose machine a node is, no pool that selects it tells it: one may refer to it. */
function unclear(pools: readonly MachineConfigPool[], refusal: string | undefined): readonly CandidateFilter[] {
  if (refusal === undefined || pools.every((pool) => referencesOf(pool).length === 0)) return [];
  const isMachine = ({ metadata }: Node): boolean => metadata.labels?.[Labels.MachineName] !== undefined;
  return [(_pool, candidates) => candidates.filter(isMachine).map((node) => ({ node }))];
}

/** What the machines of a pool mean for its plan. */
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
  const { replaces, condition } = judgeStrategy(pool, own, machineConfig);
  return {
    ...{
      tellsNew: true,
      unconfigured: new Set([...members.machineOf].flatMap(([name, machine]) => (hasApplied(machine) ? [] : [name]))),
      unresolved: unresolved || refused.length > 0,
      reserved,
      replicas,
      replaces,
      members: memberStatus(members, names),
    },
    memberConditions: [
      { ...memberCondition(members), ...(replaces && (keptMachines(members) ?? bareSets(members))) },
      ...(condition ? [condition] : []),
    ],
    ...(frozen.length > 0 && { frozen: `MachineSet ${frozen.join(', ')} is frozen` }),
    ...(refused.length > 0 && { frozen: refused.join('; ') }),
  };
}

/** Deployments that MCM updates in place replace nothing either, and what they would do brings no config. */
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
    ...{ status: 'False', reason: 'Forbidden' },
    message:
      `MachineDeployment ${names} replaces no machine: its spec.strategy.type is InPlaceUpdate; make it RollingUpdate or ` +
      'Recreate, or set updateStrategy of the pool to InPlace',
  };
}

/** Sets without a deployment replace nothing by themselves: whoever waits for it is told. */
function bareSets({ refs, unresolved, problems, refused }: PoolMembers): { readonly message: string } | undefined {
  const bare = refs.filter(({ found }) => found && !found.deployment).map(({ ref }) => `${ref.namespace}/${ref.name}`);
  if (bare.length === 0 || unresolved || problems.length > 0 || refused.length > 0) return undefined;
  return {
    message:
      `MachineSet ${bare.join(', ')} replaces no machine by itself: each gets the target when it is deleted; ` +
      'refer to a MachineDeployment to have them replaced',
  };
}

/** Nodes whose machine goes away, or is worked on by MCM, are left alone. */
const steadyOnly =
  ({ machineOf }: PoolMembers): CandidateFilter =>
  (_pool, candidates) =>
    candidates.flatMap((node) => {
      const machine = machineOf.get(node.metadata.name);
      const selected = node.metadata.labels?.[Labels.SelectedForUpdate] !== undefined;
      return machine && isSteady(machine) && !selected ? [] : [{ node }];
    });
