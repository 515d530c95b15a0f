import type { EventReason, Machine } from '@mcm/api';
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
  RegionReach,
} from '@mcm/kube';
import type { DrainObservation } from '../drain/model/observation.ts';
import type { AccountRates } from '../driver/cloud/account-rates.ts';
import type { ObserveApi } from '../driver/contract/driver.ts';
import type { DriverTimeouts, ObserveCall, ObserveWait } from '../driver/invoker/api/invoker-api.ts';
import type { DriverTracer } from '../driver/invoker/api/tracing.ts';
import type { DriverDefinition } from '../driver/schemas/define-driver.ts';
import type { KeptVmOptions } from '../evidence/kept-vms.ts';
import type { HookWebhooks } from '../hooks/webhooks/controllers.ts';
import type { ObserveNotice } from '../interruption/watcher.ts';
import type { Journal } from '../journal/journal.ts';
import type { OfferingBook } from '../machine/calls/offering-book.ts';
import type { Probes, ReachabilityTimings } from '../machine/health/reachability.ts';
import type { OrphanOptions } from '../safety/orphans/orphan-options.ts';
import type { MachineDefaults } from '../settings/settings.ts';

/** Options of a machine controller: its driver, clusters, clock and settings. */
export interface MachineControllerOptions<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  /** Client of the cluster with the Machine objects. */
  readonly control: KubeClient;
  /** Client of the cluster with the Nodes. Without a target cluster, machines have no Nodes. */
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The source of random numbers for bootstrap tokens. The source must be cryptographically secure. */
  readonly secretRandom: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder<EventReason>;
  /** Records events of Nodes in the target cluster. */
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly runtime?: Partial<InformerRuntime>;
  readonly defaults?: MachineDefaults;
  /** Number of keys that each controller reconciles at the same time. */
  readonly concurrency?: number;
  /** The number of keys that a controller reconciles at the same time, by the name of the controller (default: 50). */
  readonly concurrencyByController?: Readonly<Record<string, number>>;
  readonly bootstrapTokenExtraGroups?: string;
  /**
   * Set in observe mode. The controller changes nothing in the cloud and creates no bootstrap token. `observe` records
   * the changes that the controller would make.
   */
  readonly observe?: ObserveDecisions | undefined;
  readonly timeouts?: DriverTimeouts;
  readonly orphans?: OrphanOptions;
  readonly reachability?: ReachabilityTimings;
  /** Separate clients for the probes of the API servers, so that other requests do not delay the probes. */
  readonly probes?: Probes;
  /** The maximum number of pods with volumes of one node that move at the same time. The default is 1. */
  readonly volumeWindow?: number;
  /**
   * Maximum number of volumes of one CSI driver that all drains together move at the same time. The default is 0, which
   * means no limit.
   */
  readonly volumeLimit?: number;
  /** Whether drains use EvictionRequests when the target cluster serves them. The default is true. */
  readonly evictionRequests?: boolean;
  /**
   * The maximum number of failures of each class with stored evidence (default: 10). With the value 0, mcm stores no
   * evidence.
   */
  readonly evidencePerClass?: number;
  /** Limits for VMs that are kept after their failed machines are deleted. By default, no VM is kept. */
  readonly keptVms?: KeptVmOptions;
  readonly queueMetrics?: QueueMetrics;
  readonly observeCall?: ObserveCall;
  readonly observeApi?: ObserveApi;
  readonly observeWait?: ObserveWait;
  /**
   * Returns the ID of the control cluster of this process, see `OWNER_TAG`. By default, VMs get no tag of a control
   * cluster.
   */
  readonly owner?: (() => string | undefined) | undefined;
  /**
   * The check that this process is still the leader, before each call that changes the cloud. The fence is undefined if
   * no other process can be the leader.
   */
  readonly fence?: Fence | undefined;
  /** Returns the state of the other clusters of a fleet in the region of this cluster. */
  readonly region?: (() => RegionReach | undefined) | undefined;
  /** The rate limits that the machine controllers of all clusters in a fleet share. */
  readonly rates?: AccountRates | undefined;
  /** The shortages of offerings that the machine controllers of all clusters in a fleet share. */
  readonly offerings?: OfferingBook | undefined;
  /** True if the caches of pods, budgets and volumes are open only while a Node is drained. The default is false. */
  readonly onDemand?: boolean | undefined;
  /**
   * If the cloud refuses the credentials of a class, mcm can delete its VMs with the credentials of another class
   * (default: true).
   */
  readonly siblingCredentials?: boolean;
  readonly journal?: Journal | undefined;
  /** Whether a machine without a Node gets the condition `Ready`. The default is false. */
  readonly readyCondition?: boolean;
  /** Whether machines get `status.blockedBy` (default: false). */
  readonly blockedBy?: boolean;
  /** True if the states of VMs are recorded while a circuit breaker is open. The default is false. */
  readonly recordVmStates?: boolean;
  /**
   * Set if mcm reacts to interruptions that the cloud announces. `observe` is called with the result of each notice.
   */
  readonly interruptions?: { readonly observe: ObserveNotice } | undefined;
  readonly hookWebhooks?: HookWebhooks | undefined;
  readonly tracer?: DriverTracer | undefined;
  /** Returns the trace ID of a machine for log messages. */
  readonly traceIdOf?: ((uid: string) => string) | undefined;
  /** Receives the state of each drain, for the spans of its pods. */
  readonly traceDrain?: ((machine: Machine, drain: DrainObservation | undefined) => void) | undefined;
}
