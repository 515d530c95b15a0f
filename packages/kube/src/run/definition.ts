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
import type { InformerRuntime } from '../informer/create-informer.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import type { ObserveDecisions } from '../observe/decisions.ts';
import type { DebugPages } from './health/debug-pages.ts';
import type { Unit } from './units.ts';
import type { ExpectedCrd } from './warnings/index.ts';

/** Clients and services for the controllers of a leading process. */
export interface BinaryContext<F extends Flags> {
  readonly flags: FlagValues<F> & FlagValues<CommonFlags>;
  readonly namespace: string;
  /** The cluster of the machine objects. */
  readonly control: KubeClient;
  /** The cluster of the nodes; undefined for `--target-kubeconfig=none`. */
  readonly target: KubeClient | undefined;
  /** A control client with another component in its user agent. */
  readonly controlAs: (component: string) => KubeClient;
  readonly targetAs: (component: string) => KubeClient | undefined;
  /** Events in the control cluster. */
  readonly recorder: EventRecorder;
  /** Events in the target cluster. */
  readonly targetRecorder: EventRecorder | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** For `createInformer`. */
  readonly runtime: InformerRuntime;
  /** With `--observe-only`: records actions outside of the clusters. The clients of the clusters record their own writes. */
  readonly observe?: ObserveDecisions | undefined;
  /** Called before irreversible actions. Absent: this process works without leader election. */
  readonly fence?: Fence | undefined;
  /** Receives the debug pages of the program. */
  readonly pages: DebugPages;
  /** Monitors the expiry of the certificate of a service. @param what for example `webhook certificate` */
  readonly serving: (what: string) => ServedCertificate;
}

/** The result of reading a binary's own settings. */
export interface Configuration {
  /** Logged once in the first line. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** Settings that are valid but probably wrong, one sentence each. Logged after the first line. */
  readonly warnings?: readonly string[];
}

/** A controller binary. */
export interface BinaryDefinition<F extends Flags> extends Program {
  readonly defaults: CommonDefaults;
  /** Flags of the binary, in addition to the common ones. */
  readonly flags: F;
  /** Errors that need several flags, one sentence each with the names of the flags. */
  check?(flags: FlagValues<F> & FlagValues<CommonFlags>): readonly string[];
  /** Name of the Lease; default: the binary's name. */
  readonly leaseName?: string;
  /** Prefix of queue and reflector metrics, e.g. `mcm_`. */
  readonly metricsPrefix?: string;
  /**
   * Called once before any connection, to read the binary's own flags and environment.
   * @throws ConfigError with one line for each invalid setting, with its name and a hint. The process then ends.
   */
  configure?(flags: FlagValues<F> & FlagValues<CommonFlags>): Configuration | Promise<Configuration>;
  /** The expected CustomResourceDefinitions. The process warns if those of the server differ. */
  readonly crds?: readonly ExpectedCrd[];
  /** Starts the services of every replica, even if it does not lead. Resolves to a function that stops them. */
  serve?(context: BinaryContext<F>): Promise<(() => Promise<void>) | undefined>;
  /** Called once, when this process leads. */
  units(context: BinaryContext<F>): readonly Unit[] | Promise<readonly Unit[]>;
}
