import type { Node } from '@mcm/kube';
import type { PlannedEvent, WantedCondition } from '../../conditions/conditions.ts';
import type { ControllerConfig } from '../../kinds/controller-config.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { MachineConfigPool, MachineConfigPoolStatus } from '../../kinds/machine-config-pool.ts';

/** Data about the machines of a pool that its nodes do not contain. */
export interface MemberFacts {
  readonly unresolved?: boolean | undefined;
  readonly members?: Partial<MachineConfigPoolStatus> | undefined;
  readonly frozen?: string | undefined;
}

/** A candidate that gets no target now, with the reason. */
export interface Deferred {
  readonly node: Node;
  readonly event?: PlannedEvent;
}

/** Excludes candidates for some time. */
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
  /** The number of Degraded nodes with the target that stops the rollout; 0 means no limit. */
  readonly haltAt?: number;
  readonly replicas?: number;
  readonly targetsNew?: boolean;
  readonly unconfigured?: ReadonlySet<string>;
  readonly replaces?: boolean;
  readonly memberConditions?: readonly WantedCondition[];
  readonly reserved?: number;
  readonly refusal?: string;
  readonly now: string;
}
