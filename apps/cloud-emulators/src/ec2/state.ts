import type { Clock } from '@mcm/kube';
import type { HostRole } from '../login/aws-metadata.ts';
import type { Power } from '../machines/power.ts';
import type { EmulatorStore, Kept } from '../server/kept.ts';
import type { CloudImage, CloudInstance, CloudVolume, LaunchAnswer, LooseInterface, ScriptRule } from './model.ts';
import type { WebIdentity } from './sts.ts';

/** The parts of an EC2 endpoint. */
export interface Ec2EndpointOptions {
  readonly clock: Clock;
  readonly images?: readonly CloudImage[];
  readonly instances?: readonly CloudInstance[];
  readonly launch?: LaunchAnswer;
  readonly pageSize?: number | undefined;
  /** Region in the private DNS names of instances. Default: the region of the request. */
  readonly dnsRegion?: string;
  /** The second page's token is the first page's again. */
  readonly repeatToken?: boolean;
  readonly script?: readonly ScriptRule[];
  readonly cancelCaller?: () => void;
  /** New instances show after so long; default at once. */
  readonly visibleAfterMs?: number;
  /** Time for which a terminated instance is shutting down; default: without end. */
  readonly shutdownMs?: number;
  /** Time for which a new instance is pending; default: until it is first read. */
  readonly bootMs?: number;
  readonly power?: Power;
  /** Keeps instances and volumes beyond the end of the process. */
  readonly store?: EmulatorStore;
  /** Secret keys by access key. The endpoint refuses requests that are not signed with one of them. Absent: it accepts any signature. */
  readonly keys?: Readonly<Record<string, string>>;
  /** Tokens and roles of workloads that STS accepts; absent: it accepts all. */
  readonly webIdentity?: WebIdentity;
  /** The role of the requesting host. The metadata service and the container agent return its keys; absent: no role. */
  readonly host?: HostRole;
}

/** The part of an endpoint that its actions read and change. */
export interface Ec2State {
  readonly options: Ec2EndpointOptions;
  readonly instances: CloudInstance[];
  readonly volumes: Kept<CloudVolume>;
  readonly looseInterfaces: Kept<LooseInterface>;
  readonly power: Power;
  /** The number of launches. */
  launches: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The position of an instance among all instances, including terminated ones. */
  ordinalOf(instance: CloudInstance): number;
  /** Stores a changed instance. */
  keep(changed: CloudInstance): void;
  /** Starts the VM of an instance after its boot. */
  powerOn(each: CloudInstance, resumed: boolean): void;
}
