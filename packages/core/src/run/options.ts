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
import type { ReachabilityTimings } from '../machine/health/reachability.ts';
import type { OrphanOptions } from '../safety/orphans/orphan-options.ts';
import type { MachineDefaults } from '../settings/settings.ts';

/** What a machine controller is made of: its driver, its clusters, its clock and its settings. */
export interface MachineControllerOptions<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  /** The cluster of the machine objects. */
  readonly control: KubeClient;
  /** The cluster of the nodes; undefined: machines without nodes. */
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  /** A source fit for secrets, for bootstrap tokens. */
  readonly secretRandom: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder<EventReason>;
  /** For events of the target cluster's Nodes. */
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly runtime?: Partial<InformerRuntime>;
  readonly defaults?: MachineDefaults;
  /** Keys that each controller works on at once; default 50. */
  readonly concurrency?: number;
  /** The same for single controllers, by name. */
  readonly concurrencyByController?: Readonly<Record<string, number>>;
  readonly bootstrapTokenExtraGroups?: string;
  /** Nothing is changed in the cloud and no token made: what would be is noted here. Its clients note their own. */
  readonly observe?: ObserveDecisions | undefined;
  readonly timeouts?: DriverTimeouts;
  readonly orphans?: OrphanOptions;
  readonly reachability?: ReachabilityTimings;
  /** Clients that only ask whether the API servers are there, so that other requests do not delay them; default: the same clients. */
  readonly probes?: { readonly control: KubeClient; readonly target: KubeClient | undefined };
  /** Pods with volumes of one node on their way at once; default 1. */
  readonly volumeWindow?: number;
  /** Evidence of failed machines kept of a class at most; default 10, 0 for none. */
  readonly evidencePerClass?: number;
  /** VMs of failed machines that outlive them; default none. */
  readonly keptVms?: KeptVmOptions;
  readonly queueMetrics?: QueueMetrics;
  readonly observeCall?: ObserveCall;
  readonly observeApi?: ObserveApi;
  /** The control cluster of this process, see `OWNER_TAG`; absent, or undefined: VMs bear no mark of it. */
  readonly owner?: (() => string | undefined) | undefined;
  /** Asked before each call that changes something in the cloud; absent: nobody else can lead. */
  readonly fence?: Fence | undefined;
  /** Whether VMs whose class has credentials that are refused are deleted with those of another; default true. */
  readonly siblingCredentials?: boolean;
  /** Where each call of the driver leaves a span; absent: none is made. */
  readonly tracer?: DriverTracer | undefined;
}
