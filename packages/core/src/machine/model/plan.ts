import type { EventReason, MachineStatus } from '@mcm/api';
import type { Condition } from '@mcm/kube';
import type { PodRef } from '../../drain/model/observation.ts';
import type { Failure } from '../../driver/contract/bundle.ts';
import type { Instance } from '../../driver/contract/driver.ts';
import type { NodePatch } from '../../node/sync.ts';
import type { HealthWrite } from './damping.ts';
import type { CallKind } from './observation.ts';

/** One step of a plan. The reconciler runs the actions in order and stops at the first failure. */
export type Action =
  | { readonly do: 'addFinalizer' }
  /** Reads from discovery whether the API server has EvictionRequests. */
  | { readonly do: 'findEvictionApi' }
  /** Reads the Evictions of the pods that the drain has requested. */
  | { readonly do: 'readEvictions' }
  /** Deletes the EvictionRequests of the drain. */
  | { readonly do: 'withdrawEvictions' }
  | { readonly do: 'removeFinalizer' }
  /** Starts a driver call. The call continues after the reconcile. When it ends, the machine is reconciled. */
  | { readonly do: 'call'; readonly call: CallKind }
  /** Writes the provider ID, the node label and the priority in one request. */
  | { readonly do: 'record'; readonly instance: Instance }
  | { readonly do: 'labelNode'; readonly nodeName: string }
  /**
   * Writes the status. With `reportsDrain`, the status contains the blockers of the drain, and the memory stores the time of
   * the write.
   */
  | {
      readonly do: 'writeStatus';
      readonly status: MachineStatus;
      readonly event?: PlannedEvent;
      /** The kind of a health write that is delayed if the machine is flapping. */
      readonly writes?: HealthWrite | undefined;
      readonly reportsDrain?: true;
      /** The text of a report about a deletion. The text is delayed if another process replaces it again and again. */
      readonly reports?: string | undefined;
    }
  /** Records and reports whether the circuit breaker prevents the replacement of the machine. */
  | { readonly do: 'reportHeld'; readonly held: boolean; readonly event: PlannedEvent }
  /** Reports the problems of a drain, and records the reported causes. */
  | { readonly do: 'reportDrain'; readonly causes: readonly string[]; readonly event: PlannedEvent }
  /** Reports the settings of the machine that have no effect. With an empty list, mcm forgets the former report. */
  | { readonly do: 'warn'; readonly warnings: readonly string[] }
  | { readonly do: 'syncNode'; readonly patch: NodePatch }
  | { readonly do: 'setNodeCondition'; readonly condition: Condition }
  /** Writes annotations of the Machine. The value null removes an annotation. */
  | { readonly do: 'annotate'; readonly annotations: Readonly<Record<string, string | null>> }
  /** Records the interruption from the Node on the Machine. */
  | { readonly do: 'recordInterruption'; readonly annotation: string; readonly event: PlannedEvent }
  /** Deletes the Machine object, because the cloud will end the VM of the machine. */
  | { readonly do: 'deleteInterrupted' }
  /** Deletes the Machine object, because the VM of the machine cannot be stopped or started. */
  | { readonly do: 'deleteUnstarted'; readonly event: PlannedEvent }
  /** Sends an event of the Machine. */
  | { readonly do: 'say'; readonly event: PlannedEvent }
  /**
   * Collects and stores the evidence of a failure. This action continues after the reconcile. When the action ends, the
   * machine is reconciled.
   */
  | { readonly do: 'keepEvidence'; readonly failure: Failure }
  /**
   * Creates the record that the VM is kept. This action continues after the reconcile. When the action ends, the machine is
   * reconciled.
   */
  | { readonly do: 'keepVm' }
  /** Extends the machine's bootstrap token at least to this time. */
  | { readonly do: 'extendToken'; readonly until: Date }
  | { readonly do: 'deleteToken' }
  /** Deletes the Machine object, because its Node is being deleted. */
  | { readonly do: 'deleteMachine' }
  /**
   * Cordons the Node. With `tolerant`, an error is recorded and not thrown. With `release`, the same write removes the
   * finalizer of mcm from the Node.
   */
  | {
      readonly do: 'cordon';
      readonly reason: 'ScaleDown' | 'Unhealthy';
      readonly tolerant: boolean;
      readonly release: boolean;
    }
  /** Makes a Node schedulable again that mcm cordoned for a drain, and removes the condition of the drain. */
  | { readonly do: 'uncordon' }
  /** Reads the machine's Node from the API server, because the cache may be outdated. */
  | { readonly do: 'readNode' }
  | { readonly do: 'evict'; readonly pods: readonly PodRef[] }
  /** Deletes pods with grace period 0, and reports the deletion. An error is recorded and not thrown. */
  | { readonly do: 'deletePods'; readonly pods: readonly PodRef[]; readonly because: string }
  /** Adds the taint `out-of-service` to the Node, because the VM of the Node no longer exists. */
  | { readonly do: 'markOutOfService' }
  | {
      readonly do: 'deleteAttachments';
      readonly attachments: readonly { readonly name: string; readonly uid: string }[];
    }
  /** Removes the finalizer of mcm from the Node and deletes the Node. */
  | { readonly do: 'releaseNode' }
  /**
   * Removes the finalizer of mcm from a stale Node and deletes this Node. A stale Node has the name of the machine's Node
   * and belongs to an earlier VM.
   */
  | { readonly do: 'deleteStaleNode' };

export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
}

/** The time of the next reconcile: immediately after a change, at the next event, or at the latest at a given time. */
export type Next =
  | { readonly kind: 'continue' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'waitUntil'; readonly instant: Date };

/** A decision about one machine. */
export interface Plan {
  readonly actions: readonly Action[];
  readonly next: Next;
  /** The reason of the decision, as one sentence for the log. */
  readonly because: string;
  /** Keys of the PodDisruptionBudgets whose changes start the next reconcile. */
  readonly budgets?: readonly string[];
  /** Set if the machine waits because the cloud had no capacity for other machines of its class and zone. */
  readonly awaitsCapacity?: true;
  /** The record of the offering for which the machine will call `create` next. */
  readonly intends?: string;
}

export const wait = (because: string, ...instants: readonly (Date | undefined)[]): Plan => ({
  actions: [],
  next: nextAt(...instants),
  because,
});

export const act = (because: string, ...actions: readonly Action[]): Plan => ({
  actions,
  next: { kind: 'continue' },
  because,
});

/** Waits for an event, at the latest until the earliest of these times. */
export function nextAt(...instants: readonly (Date | undefined)[]): Next {
  const known = instants.filter((instant) => instant !== undefined);
  if (known.length === 0) return { kind: 'wait' };
  return { kind: 'waitUntil', instant: new Date(Math.min(...known.map((instant) => instant.getTime()))) };
}
