import type { EventReason } from '@mcm/api';
import type { Clock, EventRecorder, Key, KubeClient, Logger } from '@mcm/kube';
import type { Caches } from '../../cluster/caches.ts';
import type { DriverInvoker } from '../../driver/invoker/api/invoker-api.ts';
import type { KeptVms } from '../../evidence/kept-vms.ts';
import type { Journal } from '../../journal/journal.ts';
import type { MachineDefaults } from '../../settings/settings.ts';

const MINUTE = 60_000;

/** Options of the search for VMs without a machine. Times are in milliseconds. */
export interface OrphanOptions {
  /** Time between two searches. Flag: `--machine-safety-orphan-vms-period`. */
  readonly periodMs: number;
  /**
   * A VM or Node is an orphan only if it is at least this old. Two searches with at least this interval between them must
   * find no machine.
   */
  readonly confirmAfterMs: number;
  /** Maximum number of VMs, and of Nodes, that are deleted in an hour. */
  readonly maxPerHour: number;
  readonly policy: 'delete' | 'report';
  /** Control clusters that this control cluster replaces. This control cluster manages the VMs with their tags. */
  readonly formerOwners?: readonly string[];
}

/** Default settings of the search for orphans. */
export const ORPHAN_DEFAULTS: OrphanOptions = {
  periodMs: 15 * MINUTE,
  confirmAfterMs: 5 * MINUTE,
  maxPerHour: 30,
  policy: 'delete',
};

/** Dependencies of the search for orphans. */
export interface OrphanReconcileOptions {
  readonly caches: Caches;
  readonly invoker: DriverInvoker;
  readonly control: KubeClient;
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder<EventReason>;
  /** Records events of Nodes. If absent, Nodes are only reported in the log. */
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly defaults: MachineDefaults;
  /** VMs that are kept for investigation after their machines were deleted. */
  readonly keptVms: Pick<KeptVms, 'enabled' | 'list' | 'remove'>;
  readonly options: OrphanOptions;
  /** Returns the control cluster of this process. Absent or undefined if the control cluster is unknown. */
  readonly owner?: (() => string | undefined) | undefined;
  /**
   * Returns true if the controller is frozen, because API servers were unreachable for too long. While it is frozen, no VM
   * is treated as an orphan.
   */
  readonly frozen: () => boolean;
  /** Reconciles a key. */
  readonly wake: (key: Key) => void;
  /** Records the decisions. If absent, they are not recorded. */
  readonly journal?: Journal | undefined;
  /** Aborts when the process stops. */
  readonly stop: AbortSignal;
}
