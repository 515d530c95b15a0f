import type { KubeletBehaviour } from './behaviour.ts';

/**
 * The states of an instance, in their order. A terminated instance stays in listings for some time, as in real clouds.
 */
export type InstanceState = 'pending' | 'running' | 'stopping' | 'stopped' | 'shutting-down' | 'terminated';

/** The kinds of interruptions. For `Terminate` and `Ended`, the cloud ends the instance at the deadline. */
export type InterruptionKind = 'Terminate' | 'Maintenance' | 'Ended' | 'Freeze' | 'Rebalance';

/** Times of an interruption have the format RFC 3339. */
export interface Interruption {
  readonly id: string;
  readonly kind: InterruptionKind;
  readonly noticedAt: string;
  readonly deadline: string;
  readonly detail: string;
  /** Whether a client has acknowledged the notice. */
  readonly acknowledged: boolean;
}

/** An instance of the local cloud. Times have the format RFC 3339. */
export interface Instance {
  readonly id: string;
  readonly name: string;
  /**
   * The provider ID that the kubelet reports. Emulators of other clouds set this field, because their VMs run the same
   * simulated kubelets.
   */
  readonly providerId?: string;
  /** While the instance exists, a creation with the same client token returns the existing instance. */
  readonly clientToken?: string | undefined;
  readonly zone: string;
  readonly machineType: string;
  readonly image: string;
  readonly privateIp: string;
  readonly createdAt: string;
  readonly bootLatencyMs: number;
  /**
   * The API never returns user data, because user data contains a bootstrap token. When the instance is terminated, the
   * user data is removed.
   */
  userData: string;
  tags: Record<string, string>;
  state: InstanceState;
  settlesAt?: string;
  terminatedAt?: string;
  stateReason?: string;
  interruption?: Interruption;
  /** The earlier states of the instance, which read requests with delayed data return. */
  history: readonly { readonly state: InstanceState; readonly until: string }[];
  console: string;
}

type VolumeState = 'available' | 'attaching' | 'attached' | 'detaching';

/** A volume of the cloud. */
export interface Volume {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly sizeGi: number;
  readonly createdAt: string;
  /** Whether the cloud creates and deletes the volume together with an instance. */
  readonly deleteOnTermination: boolean;
  tags: Record<string, string>;
  state: VolumeState;
  instanceId?: string;
  settlesAt?: string;
}

/** An image that instances start from. */
export interface Image {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  state: 'available' | 'deprecated';
}

/** The limits of the cloud. */
export interface Quotas {
  readonly instances?: number;
  readonly cpus?: number;
  readonly volumes?: number;
  /** The maximum number of instances in a zone. If the zone is full, the cloud responds with `InsufficientCapacity`. */
  readonly zoneCapacity?: Readonly<Record<string, number>>;
}

/** A machine type, with the capacity of its nodes. */
export interface MachineType {
  readonly name: string;
  readonly cpus: number;
  readonly memoryGi: number;
  readonly gpus: number;
}

/** The inputs of a machine that is powered on. */
export interface BootOptions {
  /** Whether the instance was already running before the cloud process restarted. */
  readonly resumed: boolean;
  readonly orders: readonly KubeletBehaviour[];
  readonly console: (line: string) => void;
}

/** The program that runs on each instance. */
export interface InstanceHost {
  boot(instance: Instance, machineType: MachineType, options: BootOptions): void;
  /** Resolves when the kubelet of the instance has ended. */
  halt(instanceId: string): Promise<void>;
  forget(instanceId: string): void;
}

export interface KubeletControl {
  /** Returns the behavior of an instance's kubelet, or undefined if the instance has no kubelet. */
  behaviour(instanceId: string): KubeletBehaviour | undefined;
  /** Changes fields of a kubelet's behavior. */
  order(instanceId: string, behaviour: KubeletBehaviour): boolean;
}
