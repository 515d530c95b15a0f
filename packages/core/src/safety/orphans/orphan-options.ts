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
  /**
   * The minimum age of an orphan. Two searches must find no machine, and the time between these searches must have at
   * least this length.
   */
  readonly confirmAfterMs: number;
  /** Maximum number of VMs that mcm deletes in an hour. The number of Nodes has the same maximum. */
  readonly maxPerHour: number;
  readonly policy: 'delete' | 'report';
  /** If the value is above 0, mcm stops an orphaned VM and deletes the VM after this time. */
  readonly stopMs?: number;
  /**
   * Former control clusters that this control cluster replaced. This control cluster manages the VMs with their tags.
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
  /** Records events of Nodes. Without this recorder, only the log reports orphaned Nodes. */
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly defaults: MachineDefaults;
  /** The records of VMs that mcm keeps for an investigation after the deletion of their machines. */
  readonly keptVms: Pick<KeptVms, 'enabled' | 'list' | 'remove'>;
  readonly options: OrphanOptions;
  /** Returns the control cluster of this process. Returns undefined if the control cluster is unknown. */
  readonly owner?: (() => string | undefined) | undefined;
  /** Returns true if API servers were unreachable for too long. In this state, mcm treats no VM as an orphan. */
  readonly frozen: () => boolean;
  readonly wake: (key: Key) => void;
  readonly journal?: Journal | undefined;
  readonly stop: AbortSignal;
}
