import type { DiskImage } from '@mcm/machine-config';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';

/** The credentials of a kubelet as PEM, as they are stored on its disk. */
export interface KubeletCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** The state of a kubelet that is stored for the next cloud process. */
export interface KubeletState {
  /** Whether the API server has accepted the bootstrap token. After that, the machine controller may delete the token. */
  readonly enrolled?: boolean;
  /** Whether the kubelet has registered its Node. */
  readonly joined?: boolean;
  readonly certificate?: KubeletCertificate;
  /** The files and settings on the disk that machine configs change. */
  readonly machine?: StoredMachine;
  /** The behavior of this instance that a fault rule or the API has set. */
  readonly ordered?: KubeletBehaviour;
}

/** Stores the states of kubelets by instance ID. When `put` returns, the state is permanent. */
export interface KubeletMemory {
  get(instanceId: string): KubeletState | undefined;
  put(instanceId: string, state: KubeletState): void;
  remove(instanceId: string): void;
}

/** The content of a machine's disk that is stored for the next cloud process. */
export interface StoredMachine {
  readonly disk: DiskImage;
  readonly boots: number;
  readonly commandLine: string;
}
