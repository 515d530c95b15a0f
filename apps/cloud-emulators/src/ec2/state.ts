import type { Clock } from '@mcm/kube';
import type { HostRole } from '../login/aws-metadata.ts';
import type { Power } from '../machines/power.ts';
import type { EmulatorStore, Kept } from '../server/kept.ts';
import type { CloudImage, CloudInstance, CloudVolume, LaunchAnswer, LooseInterface, ScriptRule } from './model.ts';
import type { WebIdentity } from './sts.ts';

/** The inputs of an EC2 endpoint. */
export interface Ec2EndpointOptions {
  readonly clock: Clock;
  readonly images?: readonly CloudImage[];
  readonly instances?: readonly CloudInstance[];
  readonly launch?: LaunchAnswer;
  readonly pageSize?: number | undefined;
  /** The region in the private DNS names of instances. By default, `dnsRegion` is the region of the request. */
  readonly dnsRegion?: string;
  /** Whether the second page has the same token as the first page. */
  readonly repeatToken?: boolean;
  readonly script?: readonly ScriptRule[];
  readonly cancelCaller?: () => void;
  /** The delay until responses contain a new instance. By default, `visibleAfterMs` is 0. */
  readonly visibleAfterMs?: number;
  /** The duration of the state shutting-down. By default, the state shutting-down never ends. */
  readonly shutdownMs?: number;
  /** The duration of the state pending. By default, the state ends at the first read of the instance. */
  readonly bootMs?: number;
  readonly power?: Power;
  /** Stores instances and volumes for the next process. */
  readonly store?: EmulatorStore;
  /**
   * Secret keys by access key. The endpoint refuses requests whose signature does not match. If `keys` is absent, every
   * signature is valid.
   */
  readonly keys?: Readonly<Record<string, string>>;
  /** Workload tokens and roles that STS accepts. If `webIdentity` is absent, STS accepts all tokens and roles. */
  readonly webIdentity?: WebIdentity;
  /**
   * The role of the requesting host. The metadata service and the container agent return the keys of the role. Without
   * `role`, the host has no role.
   */
  readonly host?: HostRole;
}

/** The state of an endpoint that its actions read and change. */
export interface Ec2State {
  readonly options: Ec2EndpointOptions;
  readonly instances: CloudInstance[];
  readonly volumes: Kept<CloudVolume>;
  readonly looseInterfaces: Kept<LooseInterface>;
  readonly power: Power;
  launches: number;
  /** The current time, as Unix time in milliseconds. */
  readonly now: number;
  ordinalOf(instance: CloudInstance): number;
  keep(changed: CloudInstance): void;
  /** Powers an instance on after its boot. */
  powerOn(each: CloudInstance, resumed: boolean): void;
}
