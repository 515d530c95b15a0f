import type { Block } from '@mcm/api';
import type { CreationStep, DrainExplanation, ErrorKind, PendingHook } from '@mcm/core';
import type { QuarantinedVm } from '../../cluster/quarantine.ts';
import type { ControllerHealth } from '../../controllers/health.ts';
import type { MachineWait } from './machine-wait.ts';
/** The explanation of a machine that exists. */
export interface LivingMachine {
  readonly phase: string;
  /**
   * The time at which the phase of the machine started, as RFC 3339. If the machine has not joined yet, the time of its
   * creation.
   */
  readonly since?: string | undefined;
  /** A text about the end of the preservation, or about a preservation that has not started yet. */
  readonly preserved?: string | undefined;
  /** A sentence about the interruption that the cloud has announced. */
  readonly interruption?: string | undefined;
  readonly providerID: string | null;
  readonly node: { readonly name: string | null; readonly state: string };
  /** The capacity alternative that the VM uses. If the VM uses the first choice, `alternative` is undefined. */
  readonly alternative?: string | undefined;
  /** The zone for which the machine was created. If the deployment has no zones, `zone` is undefined. */
  readonly zone?: string | undefined;
  /** The reason why the machine was created in this zone. For machines of older versions, `zoneReason` is undefined. */
  readonly zoneReason?: string | undefined;
  readonly class: { readonly name: string; readonly missing: boolean };
  /** The cause of the machine's deletion. If the machine is not in deletion, `deletionCause` is undefined. */
  readonly deletionCause?: string | undefined;
  /** The controllers that are not working. The explanation states no next action of these controllers. */
  readonly controllers: readonly ControllerHealth[];
  /** What the machine does or waits for, with the deadline. If the machine does not wait, `waitsFor` is null. */
  readonly waitsFor: MachineWait | null;
  /** The field `status.blockedBy`. The machine controller writes the field with the flag `--blocked-by`. */
  readonly blockedBy?: readonly Block[] | undefined;
  /** The last error that the cloud returned. */
  readonly cause?: ({ readonly code?: string } & Partial<ErrorKind>) | undefined;
  /** The steps of the creation, if the machine has not joined yet. If the machine has joined, `birth` is undefined. */
  readonly birth?: readonly CreationStep[] | undefined;
  /** The hooks for which the machine waits. */
  readonly hooks: readonly PendingHook[];
  readonly hints: readonly string[];
  /** Labels and annotations with requests of users that have no effect, for example because of a wrong value. */
  readonly askedInVain: readonly string[];
  /** The labels, annotations and taints of the Node that another client has changed. */
  readonly drift: readonly string[];
  /**
   * VMs without a Machine whose class is the class of this machine. Such a VM stays until a user decides what happens
   * to it.
   */
  readonly quarantinedVms: readonly QuarantinedVm[];
  readonly drain?: DrainExplanation | undefined;
  readonly events: readonly MachineEvent[];
  /** The flags of the machine controller that affect deadlines, or a note that the flags are unknown. */
  readonly remarks: readonly string[];
}

export interface MachineEvent {
  readonly at: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}
