import type { Node } from '@mcm/kube';
import type { PlannedEvent, WantedCondition } from '../../conditions/conditions.ts';
import type { ControllerConfig } from '../../kinds/controller-config.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { MachineConfigPool, MachineConfigPoolStatus } from '../../kinds/machine-config-pool.ts';

/** Data about the machines of a pool that its nodes do not contain. */
export interface MemberFacts {
  /**
   * True if a referenced object does not exist, or if its template is refused. No further node then gets the target, as
   * in a paused pool.
   */
  readonly unresolved?: boolean | undefined;
  readonly members?: Partial<MachineConfigPoolStatus> | undefined;
  /**
   * A text about refused templates or frozen MachineSets. With this text, no further node gets the target, as in a
   * paused pool.
   */
  readonly frozen?: string | undefined;
}

/** A candidate that gets no target now, with the reason. */
export interface Deferred {
  readonly node: Node;
  readonly event?: PlannedEvent;
}

/**
 * Excludes candidates for some time. Examples are leaders, nodes whose machine is being deleted, and nodes that wait
 * for the canaries.
 */
export type CandidateFilter = (pool: MachineConfigPool, candidates: readonly Node[]) => readonly Deferred[];

/** The input for the decision about a pool. */
export interface PoolSnapshot extends MemberFacts {
  readonly pool: MachineConfigPool;
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  /** The reasons why selected nodes do not belong to the pool, one sentence each. */
  readonly claims?: readonly string[];
  readonly controllerConfig: ControllerConfig | undefined;
  readonly machineConfig: (name: string) => MachineConfig | undefined;
  readonly filters?: readonly CandidateFilter[];
  /**
   * The rollout stops when this number of nodes with the target is Degraded. The default is 0, which means no limit.
   */
  readonly haltAt?: number;
  /** The sum of the replicas. At most this number of nodes may be unavailable. */
  readonly replicas?: number;
  /**
   * True if the nodes belong to machines of the pool. A node without a target then counts as new, and gets the config
   * of new machines.
   */
  readonly targetsNew?: boolean;
  /**
   * Names of nodes whose machine was created for a config but has not applied a config yet. These nodes count as new,
   * independent of their age.
   */
  readonly unconfigured?: ReadonlySet<string>;
  /** True if new machines replace the nodes. The old nodes then get no target. */
  readonly replaces?: boolean;
  readonly memberConditions?: readonly WantedCondition[];
  /** The number of nodes outside of the pool that count towards maxUnavailable. */
  readonly reserved?: number;
  /** A text about the missing permission that prevents the writes of the pool. */
  readonly refusal?: string;
  /** The current time in RFC 3339. */
  readonly now: string;
}
