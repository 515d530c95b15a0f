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

/** The clients and services that the controllers of a leader use. */
export interface BinaryContext<F extends Flags> {
  readonly flags: FlagValues<F> & FlagValues<CommonFlags>;
  /** Name of the cluster in fleet mode. In fleet mode, one process has many contexts. */
  readonly cluster: string | undefined;
  /**
   * Returns the number of unreachable clusters in the region of the cluster. Outside of fleet mode, the function is
   * absent.
   */
  readonly region?: (() => RegionReach | undefined) | undefined;
  /**
   * Returns the milliseconds since the control API server last responded to a request of any cluster, only in fleet
   * mode.
   */
  readonly controlAnsweredMs?: (() => number | undefined) | undefined;
  /** Decides whether rollouts may start disruptions. Only a fleet with a rollout budget has this permit. */
  readonly rollouts?: RolloutPermit | undefined;
  readonly namespace: string;
  readonly sameCluster: boolean;
  readonly control: KubeClient;
  readonly target: KubeClient | undefined;
  /** Returns a client for the control cluster. The user agent of the client contains the name of another component. */
  readonly controlAs: (component: string) => KubeClient;
  readonly targetAs: (component: string) => KubeClient | undefined;
  readonly recorder: EventRecorder;
  readonly targetRecorder: EventRecorder | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly runtime: InformerRuntime;
  /** In observe mode, records decisions about actions outside of the clusters, such as calls to a cloud. */
  readonly observe?: ObserveDecisions | undefined;
  /** The fence before irreversible actions; absent if leader election is disabled. */
  readonly fence?: Fence | undefined;
  readonly pages: DebugPages;
  /**
   * Returns an object that warns before the certificate of a service expires.
   * @param what Name of the certificate, such as `webhook certificate`
   */
  readonly serving: (what: string) => ServedCertificate;
}

/** The result of reading the settings of the binary. */
export interface Configuration {
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** One sentence for each setting that is valid but probably wrong. */
  readonly warnings?: readonly string[];
}

/** A controller binary. */
export interface BinaryDefinition<F extends Flags> extends Program {
  readonly defaults: CommonDefaults;
  readonly flags: F;
  /** Returns one error for each invalid combination of flags, with the names of the flags. */
  check?(flags: FlagValues<F> & FlagValues<CommonFlags>): readonly string[];
  readonly leaseName?: string;
  /** Set if one process of the binary can serve many clusters. */
  readonly fleet?: {
    readonly without: readonly (keyof F & string)[];
    readonly rolloutBudget?: keyof F & string;
    /** The settings for deleted namespaces, if the controllers of the binary must work in deleted namespaces. */
    readonly deletion?: DeletionSettings;
    /** The objects that wake a hibernated cluster, if clusters of the binary can hibernate. */
    readonly hibernation?: HibernationSettings;
  };
  readonly metricsPrefix?: string;
  /**
   * Reads the flags and environment variables of the binary, once and before the process opens a connection.
   * @throws ConfigError with one line for each invalid setting, after which the process exits
   */
  configure?(flags: FlagValues<F> & FlagValues<CommonFlags>): Configuration | Promise<Configuration>;
  begin?(log: Logger): void;
  /** The CRDs that the binary expects. The process warns if the CRDs of the API server differ. */
  readonly crds?: readonly ExpectedCrd[];
  /** Starts the services that run in every replica, even if the replica is not the leader. */
  serve?(context: BinaryContext<F>): Promise<(() => Promise<void>) | undefined>;
  /** Returns the units of a leader each time this process becomes the leader. */
  units(context: BinaryContext<F>): readonly Unit[] | Promise<readonly Unit[]>;
}
