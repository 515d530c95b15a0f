import type { DiskImage } from '@mcm/machine-config';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';

/** A kubelet's own credentials, as its disk would keep them. PEM. */
export interface KubeletCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** The state of a kubelet that is kept after the end of the cloud process. */
export interface KubeletState {
  /** The API server has accepted its bootstrap token, which may be deleted from then on. */
  readonly enrolled?: boolean;
  /** It has registered its Node. */
  readonly joined?: boolean;
  readonly certificate?: KubeletCertificate;
  /** Its disk, as far as machine configs are on it. */
  readonly machine?: StoredMachine;
  /** Ordered for this instance, by a fault rule at boot or through the API. */
  readonly ordered?: KubeletBehaviour;
}

/** Keeps kubelets' states by instance id; durable when `put` returns. */
export interface KubeletMemory {
  get(instanceId: string): KubeletState | undefined;
  put(instanceId: string, state: KubeletState): void;
  remove(instanceId: string): void;
}

/** The content of the disk of a machine that is kept after the end of the cloud process. */
export interface StoredMachine {
  readonly disk: DiskImage;
  readonly boots: number;
  readonly commandLine: string;
}
