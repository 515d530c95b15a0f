import type { BirthStage, DrainExplanation, ErrorKind } from '@mcm/core';
import type { QuarantinedVm } from '../../cluster/quarantine.ts';
import type { ControllerHealth } from '../../controllers/health.ts';
import type { MachineWait } from './machine-wait.ts';
/** A machine that exists. */
export interface LivingMachine {
  readonly phase: string;
  /** RFC 3339: the start of its phase, or of its creation if it has not joined yet. */
  readonly since?: string | undefined;
  /** The expiry of its preservation, or the request for one. */
  readonly preserved?: string | undefined;
  readonly providerID: string | null;
  readonly node: { readonly name: string | null; readonly state: string };
  readonly class: { readonly name: string; readonly missing: boolean };
  /** The cause of its deletion; absent if it is not being deleted. */
  readonly deletionCause?: string | undefined;
  /** The controllers that do not act. The explanation announces no action of them. */
  readonly controllers: readonly ControllerHealth[];
  /** Its activity or wait, and the deadline; null: none. */
  readonly waitsFor: MachineWait | null;
  /** The last error of the cloud. */
  readonly cause?: ({ readonly code?: string } & Partial<ErrorKind>) | undefined;
  /** The progress of a machine that has not joined yet; absent if it has joined. */
  readonly birth?: readonly BirthStage[] | undefined;
  readonly hints: readonly string[];
  /** Requests on the machine that have no effect. */
  readonly askedInVain: readonly string[];
  /** VMs of its class that have no Machine and wait for a user. */
  readonly quarantinedVms: readonly QuarantinedVm[];
  readonly drain?: DrainExplanation | undefined;
  readonly events: readonly MachineEvent[];
  /** Flags of the machine controller that change deadlines, or a note that they are not known. */
  readonly remarks: readonly string[];
}

export interface MachineEvent {
  readonly at: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}
