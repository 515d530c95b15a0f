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
  /** The minimum time between two searches that find no machine for an orphan. */
  readonly confirmAfterMs: number;
  /** The maximum number of VMs, and of Nodes, that are deleted in an hour. */
  readonly maxPerHour: number;
  readonly policy: 'delete' | 'report';
  /** The time between the stop and the deletion of an orphaned VM. With 0, the VM is not stopped. */
  readonly stopMs?: number;
  /** Former control clusters that this control cluster replaced, and whose VMs it manages. */
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
  /** Without this recorder, only the log reports orphaned Nodes. */
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly defaults: MachineDefaults;
  /** The records of VMs that are kept for an investigation. */
  readonly keptVms: Pick<KeptVms, 'enabled' | 'list' | 'remove'>;
  readonly options: OrphanOptions;
  /** Returns the control cluster of this process, or undefined if it is unknown. */
  readonly owner?: (() => string | undefined) | undefined;
  /** Whether API servers were unreachable for too long, so that no VM counts as an orphan. */
  readonly frozen: () => boolean;
  readonly wake: (key: Key) => void;
  readonly journal?: Journal | undefined;
  readonly stop: AbortSignal;
}
