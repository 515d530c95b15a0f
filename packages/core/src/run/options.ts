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
  readonly control: KubeClient;
  /** The client of the cluster with the Nodes, or undefined without a target cluster. */
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The source of random numbers for bootstrap tokens must be cryptographically secure. */
  readonly secretRandom: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder<EventReason>;
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly runtime?: Partial<InformerRuntime>;
  readonly defaults?: MachineDefaults;
  readonly concurrency?: number;
  /** The number of keys that a controller reconciles at the same time, by the name of the controller (default: 50). */
  readonly concurrencyByController?: Readonly<Record<string, number>>;
  readonly bootstrapTokenExtraGroups?: string;
  /** In observe mode, the controller changes nothing in the cloud, and records its changes here. */
  readonly observe?: ObserveDecisions | undefined;
  readonly timeouts?: DriverTimeouts;
  readonly orphans?: OrphanOptions;
  readonly reachability?: ReachabilityTimings;
  /** Separate clients for the probes of the API servers, so that other requests do not delay the probes. */
  readonly probes?: Probes;
  /** The maximum number of pods with volumes of one node that move at the same time (default: 1). */
  readonly volumeWindow?: number;
  /**
   * Maximum number of volumes of one CSI driver that all drains together move at the same time. The default is 0, which
   * means no limit.
   */
  readonly volumeLimit?: number;
  /** Whether drains use EvictionRequests when the target cluster serves them (default: true). */
  readonly evictionRequests?: boolean;
  /** The maximum number of failures of each class for which mcm keeps evidence (default: 10; 0: no evidence). */
  readonly evidencePerClass?: number;
  /** By default, mcm keeps no VM of a failed machine. */
  readonly keptVms?: KeptVmOptions;
  readonly queueMetrics?: QueueMetrics;
  readonly observeCall?: ObserveCall;
  readonly observeApi?: ObserveApi;
  readonly observeWait?: ObserveWait;
  /** Returns the ID of the control cluster of this process (see `OWNER_TAG`). */
  readonly owner?: (() => string | undefined) | undefined;
  /** The check that this process is still the leader, or undefined if no other process can be the leader. */
  readonly fence?: Fence | undefined;
  readonly region?: (() => RegionReach | undefined) | undefined;
  readonly rates?: AccountRates | undefined;
  readonly offerings?: OfferingBook | undefined;
  /** True if the caches of pods, budgets and volumes are open only while a Node is drained. The default is false. */
  readonly onDemand?: boolean | undefined;
  /**
   * If the cloud refuses the credentials of a class, mcm can delete its VMs with the credentials of another class
   * (default: true).
   */
  readonly siblingCredentials?: boolean;
  readonly journal?: Journal | undefined;
  /** The default is false. */
  readonly readyCondition?: boolean;
  readonly blockedBy?: boolean;
  /** Whether the states of VMs are recorded while a circuit breaker is open (default: false). */
  readonly recordVmStates?: boolean;
  /** Set if mcm reacts to interruptions that the cloud announces. */
  readonly interruptions?: { readonly observe: ObserveNotice } | undefined;
  readonly hookWebhooks?: HookWebhooks | undefined;
  readonly tracer?: DriverTracer | undefined;
  readonly traceIdOf?: ((uid: string) => string) | undefined;
  readonly traceDrain?: ((machine: Machine, drain: DrainObservation | undefined) => void) | undefined;
}
