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
import type { ObserveLedger } from '../observe/ledger.ts';
import type { Unit } from './units.ts';
import type { ExpectedCrd } from './warnings/index.ts';

/** What a binary's controllers get once it leads. */
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
  /** With `--observe-only`: where what would be done to anything but the clusters is noted; its clients note their own. */
  readonly observe?: ObserveLedger;
  /** Asked before what cannot be taken back; absent: this process leads without being elected. */
  readonly fence?: Fence;
  /** To be told which certificate a service serves with: its end is watched. @param what `webhook certificate`, for example */
  readonly serving: (what: string) => ServedCertificate;
}

/** What a binary found when it read its own settings. */
export interface Configuration {
  /** Told in the first line of the log, once. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** What may be meant, but is likely wrong; one sentence each, told after the first line. */
  readonly warnings?: readonly string[];
}

/** A controller binary. */
export interface BinaryDefinition<F extends Flags> extends Program {
  readonly defaults: CommonDefaults;
  /** Its own flags, next to the common ones. */
  readonly flags: F;
  /** What no single flag can know is wrong; one sentence each, that names the flags. */
  check?(flags: FlagValues<F> & FlagValues<CommonFlags>): readonly string[];
  /** Name of the Lease; default: the binary's name. */
  readonly leaseName?: string;
  /** Put before queue and reflector metrics, e.g. `mcm_`. */
  readonly metricsPrefix?: string;
  /**
   * Called once, before anything is connected, to read what flags and environment say of the binary's own matters.
   * @throws ConfigError with one line for each setting that is wrong, which names it and the cure: they end the process
   */
  configure?(flags: FlagValues<F> & FlagValues<CommonFlags>): Configuration | Promise<Configuration>;
  /** The CustomResourceDefinitions that it is written for; a server with others is warned of. */
  readonly crds?: readonly ExpectedCrd[];
  /** Starts what every replica serves, whether it leads or not; resolves to what ends it again. */
  serve?(context: BinaryContext<F>): Promise<(() => Promise<void>) | undefined>;
  /** Called once, when this process leads. */
  units(context: BinaryContext<F>): readonly Unit[] | Promise<readonly Unit[]>;
}
