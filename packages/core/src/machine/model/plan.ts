import type { EventReason, MachineStatus } from '@mcm/api';
import type { Condition } from '@mcm/kube';
import type { Blocking } from '../../blocked/blocks.ts';
import type { PodRef } from '../../drain/model/observation.ts';
import type { Failure } from '../../driver/contract/bundle.ts';
import type { Instance } from '../../driver/contract/driver.ts';
import type { NodePatch } from '../../node/sync.ts';
import type { HealthWrite } from './damping.ts';
import type { CallKind } from './observation.ts';

/** An action of a plan. The reconciler runs the actions of a plan in order, and stops at the first failure. */
export type Action =
  | { readonly do: 'addFinalizer' }
  | { readonly do: 'findEvictionApi' }
  | { readonly do: 'readEvictions' }
  | { readonly do: 'withdrawEvictions' }
  | { readonly do: 'removeFinalizer' }
  /** Starts a driver call that continues after the reconcile. */
  | { readonly do: 'call'; readonly call: CallKind }
  | { readonly do: 'record'; readonly instance: Instance }
  | { readonly do: 'labelNode'; readonly nodeName: string }
  /** With `reportsDrain`, the status contains the blockers of the drain, and mcm remembers the time of the write. */
  | {
      readonly do: 'writeStatus';
      readonly status: MachineStatus;
      readonly event?: PlannedEvent;
      /** mcm may delay a health write if health writes are too frequent. */
      readonly writes?: HealthWrite | undefined;
      readonly reportsDrain?: true;
      /** mcm delays a report about a deletion if another process overwrites the report repeatedly. */
      readonly reports?: string | undefined;
    }
  | { readonly do: 'reportHeld'; readonly held: boolean; readonly event: PlannedEvent }
  | { readonly do: 'reportDrain'; readonly causes: readonly string[]; readonly event: PlannedEvent }
  | { readonly do: 'warn'; readonly warnings: readonly string[] }
  | { readonly do: 'reportDrift'; readonly drift: string; readonly event?: PlannedEvent }
  | { readonly do: 'syncNode'; readonly patch: NodePatch }
  | { readonly do: 'setNodeCondition'; readonly condition: Condition; readonly onlyIfUnchanged?: true }
  | { readonly do: 'annotate'; readonly annotations: Readonly<Record<string, string | null>> }
  /** Adds the annotations if the API server does not have the class or a Secret of the machine. */
  | { readonly do: 'noteUncreated'; readonly annotations: Readonly<Record<string, string>> }
  | { readonly do: 'recordInterruption'; readonly annotation: string; readonly event: PlannedEvent }
  /** Deletes the Machine object, because the cloud will end its VM. */
  | { readonly do: 'deleteInterrupted' }
  /** Deletes the Machine object, because mcm cannot stop or start its VM. */
  | { readonly do: 'deleteUnstarted'; readonly event: PlannedEvent }
  | { readonly do: 'say'; readonly event: PlannedEvent }
  /** Starts to collect evidence. The collection continues after the reconcile. */
  | { readonly do: 'keepEvidence'; readonly failure: Failure }
  /** Starts to create the record of a kept VM. The creation continues after the reconcile. */
  | { readonly do: 'keepVm' }
  | { readonly do: 'extendToken'; readonly until: Date }
  | { readonly do: 'deleteToken' }
  | { readonly do: 'deleteMachine' }
  /**
   * With `tolerant`, mcm records an error of the write and continues. With `release`, the write also removes the
   * finalizer of mcm from the Node.
   */
  | {
      readonly do: 'cordon';
      readonly reason: 'ScaleDown' | 'Unhealthy';
      readonly tolerant: boolean;
      readonly release: boolean;
    }
  | { readonly do: 'uncordon' }
  | { readonly do: 'readNode' }
  | { readonly do: 'evict'; readonly pods: readonly PodRef[] }
  /** Deletes pods with grace period 0, and records an error instead of throwing it. */
  | { readonly do: 'deletePods'; readonly pods: readonly PodRef[]; readonly because: string }
  | { readonly do: 'markOutOfService' }
  | {
      readonly do: 'deleteAttachments';
      readonly attachments: readonly { readonly name: string; readonly uid: string }[];
    }
  | { readonly do: 'releaseNode' }
  /** Deletes a stale Node: it has the name of the machine's Node, but belongs to an earlier VM. */
  | { readonly do: 'deleteStaleNode' };

export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
}

export type Next =
  | { readonly kind: 'continue' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'waitUntil'; readonly instant: Date };

/** The decision about one machine. */
export interface Plan {
  readonly actions: readonly Action[];
  readonly next: Next;
  readonly because: string;
  /** The PodDisruptionBudgets that block the machine. A change of one of these budgets starts the next reconcile. */
  readonly budgets?: readonly string[];
  readonly awaitsCapacity?: true;
  readonly blockedBy?: readonly Blocking[];
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

export function nextAt(...instants: readonly (Date | undefined)[]): Next {
  const known = instants.filter((instant) => instant !== undefined);
  if (known.length === 0) return { kind: 'wait' };
  return { kind: 'waitUntil', instant: new Date(Math.min(...known.map((instant) => instant.getTime()))) };
}
