import type { DiskImage } from '@mcm/machine-config';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';

/** The certificate and key in PEM, as on the disk of the kubelet. */
export interface KubeletCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** The state of a kubelet for the next cloud process. */
export interface KubeletState {
  /**
   * Whether the API server has accepted the bootstrap token. The machine controller may then delete the bootstrap
   * token.
   */
  readonly enrolled?: boolean;
  readonly joined?: boolean;
  readonly certificate?: KubeletCertificate;
  /** The files and settings on the disk that machine configs change. */
  readonly machine?: StoredMachine;
  /** The behavior of the instance that a fault rule or the API has set. */
  readonly ordered?: KubeletBehaviour;
}

/** The stored states by instance ID. A state is permanent when `put` returns. */
export interface KubeletMemory {
  get(instanceId: string): KubeletState | undefined;
  put(instanceId: string, state: KubeletState): void;
  remove(instanceId: string): void;
}

/** The files and settings of a machine for the next cloud process. */
export interface StoredMachine {
  readonly disk: DiskImage;
  readonly boots: number;
  readonly commandLine: string;
}
