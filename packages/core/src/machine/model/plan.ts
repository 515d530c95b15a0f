import type { EventReason, MachineStatus } from '@mcm/api';
import type { Condition } from '@mcm/kube';
import type { PodRef } from '../../drain/model/observation.ts';
import type { Failure } from '../../driver/contract/bundle.ts';
import type { Instance } from '../../driver/contract/driver.ts';
import type { NodePatch } from '../../node/sync.ts';
import type { HealthWrite } from './damping.ts';
import type { CallKind } from './observation.ts';

/** One thing to do. The shell carries actions out in order and stops at the first that fails. */
export type Action =
  | { readonly do: 'addFinalizer' }
  | { readonly do: 'removeFinalizer' }
  /** Starts a driver call; it goes on after the reconcile has ended and wakes the machine when it settles. */
  | { readonly do: 'call'; readonly call: CallKind }
  /** Provider id, node label and priority in one write. */
  | { readonly do: 'record'; readonly instance: Instance }
  | { readonly do: 'labelNode'; readonly nodeName: string }
  /** `tellsDrain`: it says what a drain waits for, and when it did is remembered. */
  | {
      readonly do: 'writeStatus';
      readonly status: MachineStatus;
      readonly event?: PlannedEvent;
      /** What it says of health, where a machine that flaps is held back. */
      readonly writes?: HealthWrite;
      readonly tellsDrain?: true;
    }
  /** Notes and tells that the breaker holds the machine back, or lets it go. */
  | { readonly do: 'tellHeld'; readonly held: boolean; readonly event: PlannedEvent }
  /** Tells what is wrong with a drain, and remembers which causes that were. */
  | { readonly do: 'tellDrain'; readonly causes: readonly string[]; readonly event: PlannedEvent }
  /** Tells what the machine asks for in vain; empty: nothing any more. */
  | { readonly do: 'complain'; readonly complaints: readonly string[] }
  | { readonly do: 'syncNode'; readonly patch: NodePatch }
  | { readonly do: 'setNodeCondition'; readonly condition: Condition }
  /** Annotations of the Machine; null removes one. */
  | { readonly do: 'annotate'; readonly annotations: Readonly<Record<string, string | null>> }
  /** Gathers and stores what can be told of a failure; goes on after the reconcile has ended and wakes the machine. */
  | { readonly do: 'keepEvidence'; readonly failure: Failure }
  /** Records the VM as kept beyond the machine; goes on after the reconcile has ended and wakes the machine. */
  | { readonly do: 'keepVm' }
  /** Lets the machine's bootstrap token live until then at least. */
  | { readonly do: 'extendToken'; readonly until: Date }
  | { readonly do: 'deleteToken' }
  /** Deletes the Machine object, because its Node is being deleted. */
  | { readonly do: 'deleteMachine' }
  /** `tolerant`: an error is noted, not thrown. `release`: our finalizer comes off the Node in the same write. */
  | {
      readonly do: 'cordon';
      readonly reason: 'ScaleDown' | 'Unhealthy';
      readonly tolerant: boolean;
      readonly release: boolean;
    }
  /** The Node of the machine, from its server: health is judged on what it says. */
  | { readonly do: 'readNode' }
  | { readonly do: 'evict'; readonly pods: readonly PodRef[] }
  /** Deletes pods with grace 0, and tells of it; an error is noted, not thrown. */
  | { readonly do: 'deletePods'; readonly pods: readonly PodRef[]; readonly because: string }
  /** Says of the Node that its VM is gone for good. */
  | { readonly do: 'markOutOfService' }
  | {
      readonly do: 'deleteAttachments';
      readonly attachments: readonly { readonly name: string; readonly uid: string }[];
    }
  /** Takes our finalizer off the Node and deletes it. */
  | { readonly do: 'releaseNode' }
  /** The same for the Node of an earlier VM that bears the name of the machine's own. */
  | { readonly do: 'deleteStaleNode' };

export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
}

/** How it goes on: look again at once (something was changed), when an event comes, or at an instant at the latest. */
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
  /** Keys of the PodDisruptionBudgets whose change is waited for. */
  readonly budgets?: readonly string[];
  /** The machine waits for capacity that others of its class and zone were refused. */
  readonly awaitsCapacity?: true;
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

/** Waits for an event, but at most until the earliest of the instants. */
export function nextAt(...instants: readonly (Date | undefined)[]): Next {
  const known = instants.filter((instant) => instant !== undefined);
  if (known.length === 0) return { kind: 'wait' };
  return { kind: 'waitUntil', instant: new Date(Math.min(...known.map((instant) => instant.getTime()))) };
}
