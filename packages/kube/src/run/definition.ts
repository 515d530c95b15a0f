import type { ServedCertificate } from '../admission/certificate-files.ts';
import type { Random } from '../base/random.ts';
import type { Clock } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import type { Logger } from '../contract/logger.ts';
import type { EventRecorder } from '../contract/recorder.ts';
import type { Fence } from '../election/fence.ts';
import type { CommonDefaults, CommonFlags } from '../flags/common-flags.ts';
import type { Flags, FlagValues } from '../flags/flag.ts';
import type { Program } from '../flags/parse-flags.ts';
import type { RolloutPermit } from '../fleet/budget/permit.ts';
import type { DeletionSettings } from '../fleet/deletion.ts';
import type { HibernationSettings } from '../fleet/hibernation.ts';
import type { RegionReach } from '../fleet/regions.ts';
import type { InformerRuntime } from '../informer/create-informer.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import type { ObserveDecisions } from '../observe/decisions.ts';
import type { DebugPages } from './health/debug-pages.ts';
import type { Unit } from './units.ts';
import type { ExpectedCrd } from './warnings/index.ts';

/** The clients and services for the controllers of a leader. */
export interface BinaryContext<F extends Flags> {
  readonly flags: FlagValues<F> & FlagValues<CommonFlags>;
  /** Name of the cluster in fleet mode, in which one process has many contexts. */
  readonly cluster: string | undefined;
  /** Returns how many clusters of the region are reachable (absent outside of fleet mode). */
  readonly region?: (() => RegionReach | undefined) | undefined;
  /**
   * Returns the milliseconds since the last answer of the API server with the machine objects to a request of any
   * cluster. The function is absent outside of fleet mode.
   */
  readonly controlAnsweredMs?: (() => number | undefined) | undefined;
  /** The permit for disruptions by rollouts, which only a fleet with a rollout budget has. */
  readonly rollouts?: RolloutPermit | undefined;
  readonly namespace: string;
  /** `sameCluster` is true if the machine objects and the nodes are in the same cluster. */
  readonly sameCluster: boolean;
  /** Client of the cluster with the machine objects. */
  readonly control: KubeClient;
  /** Client of the cluster with the nodes. `target` is undefined for `--target-kubeconfig=none`. */
  readonly target: KubeClient | undefined;
  /** Returns a client of the control cluster with the name of another component in its user agent. */
  readonly controlAs: (component: string) => KubeClient;
  readonly targetAs: (component: string) => KubeClient | undefined;
  readonly recorder: EventRecorder;
  readonly targetRecorder: EventRecorder | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly runtime: InformerRuntime;
  /**
   * The decisions of observe mode about actions outside of the clusters. The clients of the clusters record writes to
   * the clusters.
   */
  readonly observe?: ObserveDecisions | undefined;
  /** The fence for irreversible actions, absent without leader election. */
  readonly fence?: Fence | undefined;
  readonly pages: DebugPages;
  /**
   * Monitors when the certificate of a service expires.
   * @param what Name of the certificate, such as `webhook certificate`
   */
  readonly serving: (what: string) => ServedCertificate;
}

/** The result of reading the settings that only this binary has. */
export interface Configuration {
  /** Settings for the first log line. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** One sentence for each setting that is valid but probably wrong. The warnings follow the first log line. */
  readonly warnings?: readonly string[];
}

/** A controller binary. */
export interface BinaryDefinition<F extends Flags> extends Program {
  readonly defaults: CommonDefaults;
  /** The flags of the binary in addition to the common flags. */
  readonly flags: F;
  /** Returns one error with the names of the flags for each invalid combination. */
  check?(flags: FlagValues<F> & FlagValues<CommonFlags>): readonly string[];
  /** Name of the Lease (default: the name of the binary). */
  readonly leaseName?: string;
  /**
   * `fleet` is set if one process can serve many clusters. Flags that only apply to a process with one cluster. A
   * process for many clusters does not call `serve`.
   */
  readonly fleet?: {
    readonly without: readonly (keyof F & string)[];
    /** The flag with the name of the rollout budget's ConfigMap, absent without rollouts. */
    readonly rolloutBudget?: keyof F & string;
    /** The settings for deleted namespaces, absent if the controllers are not needed in a deleted namespace. */
    readonly deletion?: DeletionSettings;
    /** The objects that wake a hibernated cluster. A binary whose clusters never hibernate omits the field. */
    readonly hibernation?: HibernationSettings;
  };
  /** Prefix of the queue and reflector metrics, such as `mcm_`. */
  readonly metricsPrefix?: string;
  /**
   * Reads the flags and environment variables that only this binary has. `configure` is called once, before any
   * connection.
   * @throws ConfigError with one line for each invalid setting, which contains its name and a hint. The process exits
   * after this error.
   */
  configure?(flags: FlagValues<F> & FlagValues<CommonFlags>): Configuration | Promise<Configuration>;
  /** `begin` is called once, before any controller starts. */
  begin?(log: Logger): void;
  /** The CRDs that the binary expects; the process warns about differences from the CRDs of the server. */
  readonly crds?: readonly ExpectedCrd[];
  /**
   * Starts the services of every replica, whether or not it is the leader. The promise resolves to a function that
   * stops the services.
   */
  serve?(context: BinaryContext<F>): Promise<(() => Promise<void>) | undefined>;
  /**
   * Returns the units that run while this process is the leader. `units` is called each time this process becomes the
   * leader.
   */
  units(context: BinaryContext<F>): readonly Unit[] | Promise<readonly Unit[]>;
}
