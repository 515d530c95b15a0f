import type { DiskImage } from '@mcm/machine-config';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';

export interface KubeletCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface KubeletState {
  /** Whether the API server has accepted the bootstrap token. */
  readonly enrolled?: boolean;
  readonly joined?: boolean;
  readonly certificate?: KubeletCertificate;
  /** The files and settings on the disk that machine configs change. */
  readonly machine?: StoredMachine;
  readonly ordered?: KubeletBehaviour;
}

/** Stores the states of kubelets. When `put` returns, the state is permanent. */
export interface KubeletMemory {
  get(instanceId: string): KubeletState | undefined;
  put(instanceId: string, state: KubeletState): void;
  remove(instanceId: string): void;
}

/** The stored files and settings with which a machine continues in the next cloud process. */
export interface StoredMachine {
  readonly disk: DiskImage;
  readonly boots: number;
  readonly commandLine: string;
}
