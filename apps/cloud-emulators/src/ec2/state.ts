import type { Clock } from '@mcm/kube';
import type { HostRole } from '../login/aws-metadata.ts';
import type { Power } from '../machines/power.ts';
import type { EmulatorStore, Kept } from '../server/kept.ts';
import type { CloudImage, CloudInstance, CloudVolume, LaunchAnswer, LooseInterface, ScriptRule } from './model.ts';
import type { WebIdentity } from './sts.ts';

/** The options of an emulated EC2 endpoint. */
export interface Ec2EndpointOptions {
  readonly clock: Clock;
  readonly images?: readonly CloudImage[];
  readonly instances?: readonly CloudInstance[];
  readonly launch?: LaunchAnswer;
  readonly pageSize?: number | undefined;
  /**
   * The region in the private DNS names of the instances. By default, the DNS names contain the region of the request.
   */
  readonly dnsRegion?: string;
  /** Whether the token of the second page is the token of the first page, as a fault. */
  readonly repeatToken?: boolean;
  readonly script?: readonly ScriptRule[];
  readonly cancelCaller?: () => void;
  /** The delay after which responses contain a new instance. By default, `visibleAfterMs` is 0. */
  readonly visibleAfterMs?: number;
  /** The time that an instance has the state shutting-down. By default, the instance never leaves this state. */
  readonly shutdownMs?: number;
  /** The time that an instance has the state pending. By default, the first read of the instance ends this state. */
  readonly bootMs?: number;
  readonly power?: Power;
  /** Stores instances and volumes for the next process. */
  readonly store?: EmulatorStore;
  /**
   * The secret keys of the account, by access key. The endpoint refuses a request whose signature does not match its
   * secret key. If `keys` is undefined, every signature is valid.
   */
  readonly keys?: Readonly<Record<string, string>>;
  /**
   * The workload tokens and roles that STS accepts. If `webIdentity` is undefined, STS accepts all tokens and roles.
   */
  readonly webIdentity?: WebIdentity;
  /**
   * The role of the host that sends the requests. The metadata service and the container agent return the keys of the
   * role. If `role` is undefined, the host has no role.
   */
  readonly host?: HostRole;
}

/** The parts of the EC2 endpoint that its actions read and change. */
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
  /** Starts the simulated operating system of an instance after its boot. */
  powerOn(each: CloudInstance, resumed: boolean): void;
}
