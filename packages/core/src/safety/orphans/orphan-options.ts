import type { EventReason } from '@mcm/api';
import type { Clock, EventRecorder, Key, KubeClient, Logger } from '@mcm/kube';
import type { Caches } from '../../cluster/caches.ts';
import type { DriverInvoker } from '../../driver/invoker/api/invoker-api.ts';
import type { KeptVms } from '../../evidence/kept-vms.ts';
import type { Journal } from '../../journal/journal.ts';
import type { MachineDefaults } from '../../settings/settings.ts';

const MINUTE = 60_000;

/** Options of the search for VMs without a machine; times in milliseconds. */
export interface OrphanOptions {
  /** Between two passes: `--machine-safety-orphan-vms-period`. */
  readonly periodMs: number;
  /** The age of a VM, and the time between two passes that both find no machine, before a VM or Node is an orphan. */
  readonly confirmAfterMs: number;
  /** Highest number of VMs, and of Nodes, deleted in an hour. */
  readonly maxPerHour: number;
  readonly policy: 'delete' | 'report';
  /** Control clusters that this one replaces. Their VMs count as its own. */
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
  /** For events of Nodes. Absent: only the log reports them. */
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly defaults: MachineDefaults;
  /** VMs that are kept for analysis without their machines. */
  readonly keptVms: Pick<KeptVms, 'enabled' | 'list' | 'remove'>;
  readonly options: OrphanOptions;
  /** The control cluster of this process. Absent or undefined: it is unknown. */
  readonly owner?: (() => string | undefined) | undefined;
  /** API servers were unreachable. No VM counts as an orphan until they are back. */
  readonly frozen: () => boolean;
  /** Reconciles a key. */
  readonly wake: (key: Key) => void;
  /** Receives the decisions; absent: they are not recorded. */
  readonly journal?: Journal | undefined;
  /** Aborted when the process ends. */
  readonly stop: AbortSignal;
}
