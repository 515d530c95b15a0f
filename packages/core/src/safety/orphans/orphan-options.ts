import type { EventReason } from '@mcm/api';
import type { Clock, EventRecorder, Key, KubeClient, Logger } from '@mcm/kube';
import type { Caches } from '../../cluster/caches.ts';
import type { DriverInvoker } from '../../driver/invoker/api/invoker-api.ts';
import type { KeptVms } from '../../evidence/kept-vms.ts';
import type { Journal } from '../../journal/journal.ts';
import type { MachineDefaults } from '../../settings/settings.ts';

const MINUTE = 60_000;

/** The options of the search for VMs and Nodes without a machine. Times are in milliseconds. */
export interface OrphanOptions {
  /** The time between two searches. Flag: `--machine-safety-orphan-vms-period`. */
  readonly periodMs: number;
  /** Two searches must find no machine for an orphan. At least this time must pass between the two searches. */
  readonly confirmAfterMs: number;
  /** The maximum number of VMs, and the maximum number of Nodes, that mcm deletes in an hour. */
  readonly maxPerHour: number;
  readonly policy: 'delete' | 'report';
  /** The time between the stop and the deletion of an orphaned VM. With 0, the VM is not stopped. */
  readonly stopMs?: number;
  /**
   * The IDs of the control clusters that the current control cluster replaced. VMs of these control clusters belong to
   * the current control cluster.
   */
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
  /** The recorder for events of Nodes. Without the recorder, only the log reports orphaned Nodes. */
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly defaults: MachineDefaults;
  /** The records of VMs that are kept for an investigation. */
  readonly keptVms: Pick<KeptVms, 'enabled' | 'list' | 'remove'>;
  readonly options: OrphanOptions;
  /** Returns the ID of the control cluster of this process, or undefined if the ID is unknown. */
  readonly owner?: (() => string | undefined) | undefined;
  /**
   * Whether the controller is frozen, because an API server was unreachable for too long. During a freeze, no VM counts
   * as an orphan.
   */
  readonly frozen: () => boolean;
  readonly wake: (key: Key) => void;
  readonly journal?: Journal | undefined;
  readonly stop: AbortSignal;
}
