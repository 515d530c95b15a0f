import type { Node } from '@mcm/kube';
import type { PlannedEvent, WantedCondition } from '../../conditions/conditions.ts';
import type { ControllerConfig } from '../../kinds/controller-config.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { MachineConfigPool, MachineConfigPoolStatus } from '../../kinds/machine-config-pool.ts';

/** Data about the machines of a pool, in addition to its nodes. */
export interface MemberFacts {
  /**
   * `unresolved` is true if a referenced object does not exist or its template is refused. If `unresolved` is true, no
   * further node gets the target, and the rollout stops as in a paused pool.
   */
  readonly unresolved?: boolean | undefined;
  readonly members?: Partial<MachineConfigPoolStatus> | undefined;
  /**
   * The refused templates or the frozen MachineSets, as text. With a text, no further node gets the target, and the
   * rollout stops as in a paused pool.
   */
  readonly frozen?: string | undefined;
}

/** A candidate that gets no target now. */
export interface Deferred {
  readonly node: Node;
  readonly event?: PlannedEvent;
}

/**
 * Excludes candidates temporarily, for example leaders, nodes whose machine is being deleted, and nodes that wait for
 * the canaries.
 */
export type CandidateFilter = (pool: MachineConfigPool, candidates: readonly Node[]) => readonly Deferred[];

/** The input of a decision about a pool. */
export interface PoolSnapshot extends MemberFacts {
  readonly pool: MachineConfigPool;
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  /** The reasons why nodes that the pool selects do not belong to the pool, one sentence each. */
  readonly claims?: readonly string[];
  readonly controllerConfig: ControllerConfig | undefined;
  readonly machineConfig: (name: string) => MachineConfig | undefined;
  readonly filters?: readonly CandidateFilter[];
  /**
   * Number of Degraded nodes with the target at which the rollout stops. By default, `haltAt` is 0, which means no
   * limit.
   */
  readonly haltAt?: number;
  /** The number of wanted machines. The number is an upper limit for unavailable nodes. */
  readonly replicas?: number;
  /**
   * `targetsNew` is true if the nodes belong to machines of the pool. If `targetsNew` is true, a node without a target
   * is new, and gets the config of new machines.
   */
  readonly targetsNew?: boolean;
  /**
   * Names of nodes whose machine was created for a configuration and has not applied any configuration. The named nodes
   * count as new, independent of their age.
   */
  readonly unconfigured?: ReadonlySet<string>;
  /** `replaces` is true if new machines replace the nodes. Nodes that new machines replace get no target. */
  readonly replaces?: boolean;
  readonly memberConditions?: readonly WantedCondition[];
  /** The number of slots of maxUnavailable that nodes outside the pool take. */
  readonly reserved?: number;
  /** The missing permission that blocks the writes of the pool. */
  readonly refusal?: string;
  /** The current time in RFC 3339. */
  readonly now: string;
}
