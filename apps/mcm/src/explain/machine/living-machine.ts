import type { Block } from '@mcm/api';
import type { CreationStep, DrainExplanation, ErrorKind, PendingHook } from '@mcm/core';
import type { QuarantinedVm } from '../../cluster/quarantine.ts';
import type { ControllerHealth } from '../../controllers/health.ts';
import type { MachineWait } from './machine-wait.ts';
/** The explanation of a machine that exists. */
export interface LivingMachine {
  readonly phase: string;
  /** The start of the machine's phase, RFC 3339. For a machine that has not joined yet, the time of its creation. */
  readonly since?: string | undefined;
  /** The end of the preservation as text, or the request for a preservation that has not started. */
  readonly preserved?: string | undefined;
  /** The interruption that the cloud has announced, as one sentence. */
  readonly interruption?: string | undefined;
  readonly providerID: string | null;
  readonly node: { readonly name: string | null; readonly state: string };
  /** The capacity alternative for the VM. If `alternative` is absent, the VM uses the first choice. */
  readonly alternative?: string | undefined;
  /** The zone for which the machine was created. `zone` is absent if its deployment has no zones. */
  readonly zone?: string | undefined;
  /** The reason for the zone of the machine. `zoneReason` is absent for machines of older versions. */
  readonly zoneReason?: string | undefined;
  readonly class: { readonly name: string; readonly missing: boolean };
  /** The cause of the deletion. `deletionCause` is absent if the machine is not in deletion. */
  readonly deletionCause?: string | undefined;
  /** The controllers that are not working. The explanation announces no action of a controller that is not working. */
  readonly controllers: readonly ControllerHealth[];
  /** The activity or wait of the machine, with the deadline. `waitsFor` is null if the machine does not wait. */
  readonly waitsFor: MachineWait | null;
  /** The field `status.blockedBy`, which the machine controller writes with `--blocked-by`. */
  readonly blockedBy?: readonly Block[] | undefined;
  /** The last error of the cloud. */
  readonly cause?: ({ readonly code?: string } & Partial<ErrorKind>) | undefined;
  /** The stages of a machine that has not joined yet. If the machine has joined, `birth` is absent. */
  readonly birth?: readonly CreationStep[] | undefined;
  /** Hooks for which the machine still waits. */
  readonly hooks: readonly PendingHook[];
  readonly hints: readonly string[];
  /** Requests in labels and annotations of the machine that have no effect, for example because of a wrong value. */
  readonly askedInVain: readonly string[];
  /** Labels, annotations and taints of the Node that another client changed. */
  readonly drift: readonly string[];
  /**
   * VMs of the machine's class without a Machine. The VMs without a Machine stay until a user decides about the VMs.
   */
  readonly quarantinedVms: readonly QuarantinedVm[];
  readonly drain?: DrainExplanation | undefined;
  readonly events: readonly MachineEvent[];
  /** Flags of the machine controller that affect deadlines, or a note that the flags are not known. */
  readonly remarks: readonly string[];
}

export interface MachineEvent {
  readonly at: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}
