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
  /** Flag: `--machine-safety-orphan-vms-period`. */
  readonly periodMs: number;
  /**
   * A VM or Node must be at least this old to be an orphan. Two searches must find no machine, and the interval between
   * these searches must be at least this long.
   */
  readonly confirmAfterMs: number;
  /** Maximum number of VMs, and of Nodes, that are deleted in an hour. */
  readonly maxPerHour: number;
  readonly policy: 'delete' | 'report';
  /** If above 0, a VM is stopped, and is deleted after this time. */
  readonly stopMs?: number;
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

export interface OrphanReconcileOptions {
  readonly caches: Caches;
  readonly invoker: DriverInvoker;
  readonly control: KubeClient;
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder<EventReason>;
  /** Records events of Nodes. If `targetRecorder` is absent, Nodes are only reported in the log. */
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly defaults: MachineDefaults;
  /** VMs that are kept for investigation after their machines were deleted. */
  readonly keptVms: Pick<KeptVms, 'enabled' | 'list' | 'remove'>;
  readonly options: OrphanOptions;
  /** Returns the control cluster of this process, if known. */
  readonly owner?: (() => string | undefined) | undefined;
  /**
   * Returns true if API servers were unreachable for too long. While `frozen` returns true, no VM is treated as an
   * orphan.
   */
  readonly frozen: () => boolean;
  readonly wake: (key: Key) => void;
  readonly journal?: Journal | undefined;
  readonly stop: AbortSignal;
}
