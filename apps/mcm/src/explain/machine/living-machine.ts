import type { Block } from '@mcm/api';
import type { CreationStep, DrainExplanation, ErrorKind, PendingHook } from '@mcm/core';
import type { QuarantinedVm } from '../../cluster/quarantine.ts';
import type { ControllerHealth } from '../../controllers/health.ts';
import type { MachineWait } from './machine-wait.ts';
export interface LivingMachine {
  readonly phase: string;
  readonly since?: string | undefined;
  readonly preserved?: string | undefined;
  readonly interruption?: string | undefined;
  readonly providerID: string | null;
  readonly node: { readonly name: string | null; readonly state: string };
  /** The capacity alternative that the VM uses. If the VM uses the first choice, `alternative` is undefined. */
  readonly alternative?: string | undefined;
  readonly zone?: string | undefined;
  readonly zoneReason?: string | undefined;
  readonly class: { readonly name: string; readonly missing: boolean };
  /** The cause of the machine's deletion. If the machine is not in deletion, `deletionCause` is undefined. */
  readonly deletionCause?: string | undefined;
  readonly controllers: readonly ControllerHealth[];
  /** What the machine does or waits for, with the deadline. If the machine does not wait, `waitsFor` is null. */
  readonly waitsFor: MachineWait | null;
  /** The reasons in `status.blockedBy`, which the machine controller writes if the flag `--blocked-by` is set. */
  readonly blockedBy?: readonly Block[] | undefined;
  readonly cause?: ({ readonly code?: string } & Partial<ErrorKind>) | undefined;
  /** The steps of the creation. If the machine has joined, `birth` is undefined. */
  readonly birth?: readonly CreationStep[] | undefined;
  readonly hooks: readonly PendingHook[];
  readonly hints: readonly string[];
  /** User requests in labels and annotations that have no effect, for example because of a wrong value. */
  readonly askedInVain: readonly string[];
  readonly drift: readonly string[];
  readonly quarantinedVms: readonly QuarantinedVm[];
  readonly drain?: DrainExplanation | undefined;
  readonly events: readonly MachineEvent[];
  readonly remarks: readonly string[];
}

export interface MachineEvent {
  readonly at: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}
