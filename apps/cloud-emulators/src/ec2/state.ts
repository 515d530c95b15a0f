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
  readonly dnsRegion?: string;
  /**
   * Whether the endpoint simulates a fault: each later page returns the page token of its own request as the next
   * token.
   */
  readonly repeatToken?: boolean;
  readonly script?: readonly ScriptRule[];
  readonly cancelCaller?: () => void;
  readonly visibleAfterMs?: number;
  readonly shutdownMs?: number;
  readonly bootMs?: number;
  readonly power?: Power;
  /** Stores instances and volumes for the next process. */
  readonly store?: EmulatorStore;
  /**
   * The secret keys. The endpoint refuses a request whose signature does not match its secret key. If `keys` is
   * undefined, every signature is valid.
   */
  readonly keys?: Readonly<Record<string, string>>;
  /**
   * The workload tokens and roles that STS accepts. If `webIdentity` is undefined, STS accepts all tokens and roles.
   */
  readonly webIdentity?: WebIdentity;
  readonly host?: HostRole;
}

export interface Ec2State {
  readonly options: Ec2EndpointOptions;
  readonly instances: CloudInstance[];
  readonly volumes: Kept<CloudVolume>;
  readonly looseInterfaces: Kept<LooseInterface>;
  readonly power: Power;
  launches: number;
  readonly now: number;
  ordinalOf(instance: CloudInstance): number;
  keep(changed: CloudInstance): void;
  /** Starts the simulated operating system of an instance after its boot. */
  powerOn(each: CloudInstance, resumed: boolean): void;
}
