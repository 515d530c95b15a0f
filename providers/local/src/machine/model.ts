import type { KubeletBehaviour } from './behaviour.ts';

/** The states in order. As in real clouds, listings contain a terminated instance for some time. */
export type InstanceState = 'pending' | 'running' | 'stopping' | 'stopped' | 'shutting-down' | 'terminated';

/** `Terminate` and `Ended` end the instance at the deadline. The other kinds do not change the instance. */
export type InterruptionKind = 'Terminate' | 'Maintenance' | 'Ended' | 'Freeze' | 'Rebalance';

/** An interruption. Times are RFC 3339. */
export interface Interruption {
  readonly id: string;
  readonly kind: InterruptionKind;
  readonly noticedAt: string;
  readonly deadline: string;
  readonly detail: string;
  /** Whether a client has acknowledged the notice. Listings omit acknowledged notices. */
  readonly acknowledged: boolean;
}

/** An instance. Times are RFC 3339. */
export interface Instance {
  readonly id: string;
  readonly name: string;
  /**
   * The provider ID in the Node. By default, the ID has the format of the local cloud. Emulators of other clouds set
   * the field for the same simulated kubelets.
   */
  readonly providerId?: string;
  /**
   * The idempotency key of the creation. While the instance exists, a creation with the same key returns the existing
   * instance.
   */
  readonly clientToken?: string | undefined;
  readonly zone: string;
  readonly machineType: string;
  readonly image: string;
  readonly privateIp: string;
  readonly createdAt: string;
  /** The duration of the boot in milliseconds. */
  readonly bootLatencyMs: number;
  /**
   * The API never returns the user data, because it contains a bootstrap token. The termination of the instance
   * empties the user data.
   */
  userData: string;
  tags: Record<string, string>;
  state: InstanceState;
  /**
   * The end of the current transition: `pending` → `running`, `stopping` → `stopped`, or `shutting-down` →
   * `terminated`.
   */
  settlesAt?: string;
  terminatedAt?: string;
  /** The reason for a termination that no client requested. */
  stateReason?: string;
  interruption?: Interruption;
  /** The earlier states of the instance, with the newest last. Delayed reads return the earlier states. */
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
  /** Whether the volume is created and deleted together with an instance. */
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

/** The limits of the cloud. An absent limit means no limit. */
export interface Quotas {
  readonly instances?: number;
  readonly cpus?: number;
  readonly volumes?: number;
  /** The capacity of each zone. A full zone responds with `InsufficientCapacity`. */
  readonly zoneCapacity?: Readonly<Record<string, number>>;
}

/** A machine type, with the capacity of its nodes. */
export interface MachineType {
  readonly name: string;
  readonly cpus: number;
  readonly memoryGi: number;
  readonly gpus: number;
}

/** The inputs of a machine at power-on. */
export interface BootOptions {
  /** Whether the instance already ran before the cloud process restarted. */
  readonly resumed: boolean;
  /** Kubelet behavior from fault rules. */
  readonly orders: readonly KubeletBehaviour[];
  readonly console: (line: string) => void;
}

/** The program on each instance. The cloud calls the host for each power-on and power-off. */
export interface InstanceHost {
  boot(instance: Instance, machineType: MachineType, options: BootOptions): void;
  /** Resolves when the kubelet of the instance has ended. */
  halt(instanceId: string): Promise<void>;
  /** `forget` is called after the deletion of the instance. The host can remove all data of the instance. */
  forget(instanceId: string): void;
}

export interface KubeletControl {
  /** Returns the behavior of a kubelet, or undefined if the instance has no kubelet. */
  behaviour(instanceId: string): KubeletBehaviour | undefined;
  /** Changes the given fields. Returns false if the instance has no kubelet. */
  order(instanceId: string, behaviour: KubeletBehaviour): boolean;
}
