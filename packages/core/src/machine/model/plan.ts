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
  | { readonly do: 'removeFinalizer' }
  /** Starts a driver call. The call continues after the reconcile, and wakes the machine when it ends. */
  | { readonly do: 'call'; readonly call: CallKind }
  /** Writes the provider ID, the node label and the priority in one request. */
  | { readonly do: 'record'; readonly instance: Instance }
  | { readonly do: 'labelNode'; readonly nodeName: string }
  /** `reportsDrain`: the status contains the blockers of the drain. The memory stores the time of the write. */
  | {
      readonly do: 'writeStatus';
      readonly status: MachineStatus;
      readonly event?: PlannedEvent;
      /** The kind of a health write that is delayed if the machine's health changes often. */
      readonly writes?: HealthWrite | undefined;
      readonly reportsDrain?: true;
    }
  /** Stores and reports whether the circuit breaker prevents the replacement of the machine. */
  | { readonly do: 'reportHeld'; readonly held: boolean; readonly event: PlannedEvent }
  /** Reports the problems of a drain, and remembers their causes. */
  | { readonly do: 'reportDrain'; readonly causes: readonly string[]; readonly event: PlannedEvent }
  /** Reports the machine's requests that have no effect. An empty list clears the report. */
  | { readonly do: 'warn'; readonly warnings: readonly string[] }
  | { readonly do: 'syncNode'; readonly patch: NodePatch }
  | { readonly do: 'setNodeCondition'; readonly condition: Condition }
  /** Annotations of the Machine; null removes one. */
  | { readonly do: 'annotate'; readonly annotations: Readonly<Record<string, string | null>> }
  /** Stores the interruption that the Node reports on the Machine. */
  | { readonly do: 'recordInterruption'; readonly annotation: string; readonly event: PlannedEvent }
  /** Deletes the Machine object, because the cloud interrupts its VM. */
  | { readonly do: 'deleteInterrupted' }
  /** Sends an event of the Machine. */
  | { readonly do: 'say'; readonly event: PlannedEvent }
  /** Collects and stores the evidence of a failure. This continues after the reconcile, and wakes the machine at its end. */
  | { readonly do: 'keepEvidence'; readonly failure: Failure }
  /** Records that the VM outlives the machine. This continues after the reconcile, and wakes the machine at its end. */
  | { readonly do: 'keepVm' }
  /** Extends the machine's bootstrap token at least to this instant. */
  | { readonly do: 'extendToken'; readonly until: Date }
  | { readonly do: 'deleteToken' }
  /** Deletes the Machine object, because its Node is being deleted. */
  | { readonly do: 'deleteMachine' }
  /** `tolerant`: an error is recorded, not thrown. `release`: the same write removes our finalizer from the Node. */
  | {
      readonly do: 'cordon';
      readonly reason: 'ScaleDown' | 'Unhealthy';
      readonly tolerant: boolean;
      readonly release: boolean;
    }
  /** Reads the machine's Node from the API server, because the cache may be stale. */
  | { readonly do: 'readNode' }
  | { readonly do: 'evict'; readonly pods: readonly PodRef[] }
  /** Deletes pods with grace period 0, and reports it. An error is recorded, not thrown. */
  | { readonly do: 'deletePods'; readonly pods: readonly PodRef[]; readonly because: string }
  /** Marks the Node as out of service, because its VM no longer exists. */
  | { readonly do: 'markOutOfService' }
  | {
      readonly do: 'deleteAttachments';
      readonly attachments: readonly { readonly name: string; readonly uid: string }[];
    }
  /** Removes our finalizer from the Node and deletes the Node. */
  | { readonly do: 'releaseNode' }
  /** The same for the Node of an earlier VM that has the name of the machine's own Node. */
  | { readonly do: 'deleteStaleNode' };

export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
}

/** When the next reconcile runs: at once after a change, at the next event, or at an instant at the latest. */
export type Next =
  | { readonly kind: 'continue' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'waitUntil'; readonly instant: Date };

/** A decision about one machine. */
export interface Plan {
  readonly actions: readonly Action[];
  readonly next: Next;
  /** One sentence for the log. */
  readonly because: string;
  /** Keys of the PodDisruptionBudgets whose change wakes the machine. */
  readonly budgets?: readonly string[];
  /** The machine waits, because the cloud refused capacity to other machines of its class and zone. */
  readonly awaitsCapacity?: true;
  /** The record of the offering that the machine will call `create` for next. */
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

/** Waits for an event, at the latest until the earliest instant. */
export function nextAt(...instants: readonly (Date | undefined)[]): Next {
  const known = instants.filter((instant) => instant !== undefined);
  if (known.length === 0) return { kind: 'wait' };
  return { kind: 'waitUntil', instant: new Date(Math.min(...known.map((instant) => instant.getTime()))) };
}
