import type { EventReason } from '@mcm/api';
import type {
  Clock,
  EventRecorder,
  Fence,
  InformerRuntime,
  KubeClient,
  Logger,
  ObserveDecisions,
  QueueMetrics,
  Random,
} from '@mcm/kube';
import type { ObserveApi } from '../driver/contract/driver.ts';
import type { DriverTimeouts, ObserveCall } from '../driver/invoker/api/invoker-api.ts';
import type { DriverTracer } from '../driver/invoker/api/tracing.ts';
import type { DriverDefinition } from '../driver/schemas/define-driver.ts';
import type { KeptVmOptions } from '../evidence/kept-vms.ts';
import type { ObserveNotice } from '../interruption/watcher.ts';
import type { Journal } from '../journal/journal.ts';
import type { ReachabilityTimings } from '../machine/health/reachability.ts';
import type { OrphanOptions } from '../safety/orphans/orphan-options.ts';
import type { MachineDefaults } from '../settings/settings.ts';

/** Options of a machine controller: its driver, clusters, clock and settings. */
export interface MachineControllerOptions<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  /** The cluster of the machine objects. */
  readonly control: KubeClient;
  /** The cluster of the nodes; undefined: machines without nodes. */
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  /** A secure source of random numbers, for bootstrap tokens. */
  readonly secretRandom: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder<EventReason>;
  /** Records events of Nodes in the target cluster. */
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly runtime?: Partial<InformerRuntime>;
  readonly defaults?: MachineDefaults;
  /** Number of keys that each controller reconciles at once; default 50. */
  readonly concurrency?: number;
  /** The same for single controllers, by name. */
  readonly concurrencyByController?: Readonly<Record<string, number>>;
  readonly bootstrapTokenExtraGroups?: string;
  /** No change of the cloud and no token: the changes are recorded here instead. Its clients record their own. */
  readonly observe?: ObserveDecisions | undefined;
  readonly timeouts?: DriverTimeouts;
  readonly orphans?: OrphanOptions;
  readonly reachability?: ReachabilityTimings;
  /** Clients for probes of the API servers, so that other requests do not delay them. Default: the same clients. */
  readonly probes?: { readonly control: KubeClient; readonly target: KubeClient | undefined };
  /** Number of pods with volumes of one node that may move at once; default 1. */
  readonly volumeWindow?: number;
  /** Highest number of evidence records for a class; default 10, 0 for none. */
  readonly evidencePerClass?: number;
  /** Limits for VMs of failed machines that outlive them; default none. */
  readonly keptVms?: KeptVmOptions;
  readonly queueMetrics?: QueueMetrics;
  readonly observeCall?: ObserveCall;
  readonly observeApi?: ObserveApi;
  /** The control cluster of this process, see `OWNER_TAG`. Absent or undefined: VMs do not have this tag. */
  readonly owner?: (() => string | undefined) | undefined;
  /** Checked before each call that changes the cloud. Absent: no other process can lead. */
  readonly fence?: Fence | undefined;
  /** Whether a VM whose class has refused credentials is deleted with those of another class; default true. */
  readonly siblingCredentials?: boolean;
  /** Receives the decisions; absent: they are not recorded. */
  readonly journal?: Journal | undefined;
  /** Whether mcm reacts to interruptions that the cloud announces, and receives their outcomes; absent: it does not. */
  readonly interruptions?: { readonly observe: ObserveNotice } | undefined;
  /** Creates a span for each call of the driver; absent: none. */
  readonly tracer?: DriverTracer | undefined;
}
