import type { KubeletBehaviour } from './behaviour.ts';

/** The states of an instance in order. As in real clouds, a terminated instance is listed for some time. */
export type InstanceState = 'pending' | 'running' | 'shutting-down' | 'terminated';

/** A virtual machine. Times are RFC 3339. */
export interface Instance {
  readonly id: string;
  readonly name: string;
  /** The provider ID in the Node; absent: the format of this provider. Set by clouds of other providers that boot the same kubelets. */
  readonly providerId?: string;
  /** The creator's idempotency key: while the instance lives, creating with it again yields this instance. */
  readonly clientToken?: string | undefined;
  readonly zone: string;
  readonly machineType: string;
  readonly image: string;
  readonly privateIp: string;
  readonly createdAt: string;
  /** How long it stays `pending`, in milliseconds. */
  readonly bootLatencyMs: number;
  /** Never returned by the API, because it contains a bootstrap token. Emptied when the instance is terminated. */
  userData: string;
  tags: Record<string, string>;
  state: InstanceState;
  /** When the running transition is over: `pending` → `running`, `shutting-down` → `terminated`. */
  settlesAt?: string;
  terminatedAt?: string;
  /** Why the instance ended, if not by request. */
  stateReason?: string;
  /** States that it left, newest last, for views that lag behind. */
  history: readonly { readonly state: InstanceState; readonly until: string }[];
  /** The output of the serial console of the machine. */
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
  /** Created and deleted with an instance. */
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

/** Limits of the account; an absent one does not limit. */
export interface Quotas {
  readonly instances?: number;
  readonly cpus?: number;
  readonly volumes?: number;
  /** Instances a zone has room for; a full zone answers `InsufficientCapacity`. */
  readonly zoneCapacity?: Readonly<Record<string, number>>;
}

/** The capacity of the node of an instance type. */
export interface MachineType {
  readonly name: string;
  readonly cpus: number;
  readonly memoryGi: number;
  readonly gpus: number;
}

/** The inputs of a machine at power-on. */
export interface BootOptions {
  /** The instance was running already when the cloud's own process started again. */
  readonly resumed: boolean;
  /** Behavior that fault rules order for its kubelet. */
  readonly orders: readonly KubeletBehaviour[];
  /** Writes a line to its serial console. */
  readonly console: (line: string) => void;
}

/** The system of an instance. The cloud reports power on and off to it, and does not know what runs there. */
export interface InstanceHost {
  /** Power on. */
  boot(instance: Instance, machineType: MachineType, options: BootOptions): void;
  /** Power off; resolves when nothing of the instance is at work any more. */
  halt(instanceId: string): Promise<void>;
  /** The instance is deleted: all data of it can be removed. */
  forget(instanceId: string): void;
}

/** The kubelets' side of the admin API. */
export interface KubeletControl {
  /** Behavior ordered for an instance; undefined when no kubelet belongs to it. */
  behaviour(instanceId: string): KubeletBehaviour | undefined;
  /** Changes the fields named; false when no kubelet belongs to the instance. */
  order(instanceId: string, behaviour: KubeletBehaviour): boolean;
}
