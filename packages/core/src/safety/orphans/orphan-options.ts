import type { EventReason } from '@mcm/api';
import type { Clock, EventRecorder, Key, KubeClient, Logger } from '@mcm/kube';
import type { Caches } from '../../cluster/caches.ts';
import type { DriverInvoker } from '../../driver/invoker/api/invoker-api.ts';
import type { KeptVms } from '../../evidence/kept-vms.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Doubt } from '../../machine/model/observation.ts';
import type { MachineDefaults } from '../../settings/settings.ts';

const MINUTE = 60_000;

/** The options of the search for VMs and Nodes without a machine, with times in milliseconds. */
export interface OrphanOptions {
  /** Flag: `--machine-safety-orphan-vms-period`. */
  readonly periodMs: number;
  /** The minimum time between the two searches that must find no machine for an orphan. */
  readonly confirmAfterMs: number;
  /** The maximum number of VMs, and the maximum number of Nodes, that mcm deletes in an hour. */
  readonly maxPerHour: number;
  readonly policy: 'delete' | 'report';
  /** Without a stop time, mcm deletes an orphaned VM at once. */
  readonly stopMs?: number;
  /** Whether VMs in quarantine have a tag in the cloud. A stop time also enables the tags. */
  readonly tags?: boolean;
  /**
   * The IDs of the control clusters that the current control cluster replaced. The VMs of these control clusters belong
   * to the current control cluster.
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
  readonly keptVms: Pick<KeptVms, 'enabled' | 'list' | 'remove'>;
  readonly options: OrphanOptions;
  readonly owner?: (() => string | undefined) | undefined;
  /** While the controller is frozen, no VM counts as an orphan. */
  readonly frozen: () => boolean;
  /** Returns the reason why the states of the Nodes may be outdated, or undefined. */
  readonly doubt: () => Doubt | undefined;
  readonly wake: (key: Key) => void;
  readonly journal?: Journal | undefined;
  readonly stop: AbortSignal;
}
