import type { crds } from '@mcm/api';
import type { KillPoint } from '@mcm/conformance/fleet';
import type { buildMachineController, DriverTracer, Journal } from '@mcm/core';
import type { KubeClient, Transport } from '@mcm/kube';
import type { KubeletBehaviour } from '@mcm/provider-local';
import type { ProfileName } from '../network/profiles.ts';

export const NAMESPACE = 'default';
/**
 * The address of the local cloud in the Secret of the classes. The simulation handles all requests, so no connection to
 * this address is made.
 */
export const ENDPOINT = 'http://cloud.invalid';

/** In histories of the mode `warm`, the user requests at most this number of warm machines. */
export const MOST_WARM = 3;

/** The name of a process that a simulation can kill. */
export type ProcessName = 'manager' | 'machine-controller';

export interface WorldOptions {
  /** Whether the machine controller has its own ServiceAccount, as in an installation with separate pods. */
  readonly isSeparate?: boolean;
  readonly seed?: number;
  /** The latencies and faults of the network. By default, the profile is `none`. */
  readonly profile?: ProfileName | undefined;
  /** When each process is killed. After `restartAfterMs`, a new process starts. */
  readonly killPoints?: Partial<Record<ProcessName, KillPoint>>;
  readonly restartAfterMs?: number;
  readonly kubelets?: KubeletBehaviour;
  readonly maxSurge?: number;
  readonly maxUnavailable?: number;
  /** The webhooks that run steps for hooks. */
  readonly hookWebhooks?: Parameters<typeof buildMachineController>[0]['hookWebhooks'];
  /** The value of the machine controller's flag `--interruptions`. */
  readonly interruptions?: boolean;
  /** The values of the flags `--disruption-report` (manager) and `--record-vm-states` (machine controller). */
  readonly reports?: boolean | undefined;
  /** The value of the manager's flag `--capacity-buffers`. */
  readonly capacityBuffers?: boolean;
  /** The value of the flag `--max-unhealthy-replacements` for both controllers. */
  readonly maxUnhealthyReplacements?: number;
  /** The annotations of the MachineDeployment. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** The strategy of in-place updates. If it is undefined, the deployment uses rolling updates. */
  readonly inPlace?: 'Auto' | 'Manual';
  /** The names of additional MachineClasses. `blue` and `green` always exist. */
  readonly moreClasses?: readonly string[] | undefined;
  /** The settings of all machines, such as `creationTimeout`. */
  readonly machine?: object;
  /** Wraps the connection from a controller to the API server, for example with another identity. */
  readonly wrap?: ((name: ProcessName, transport: Transport) => Transport) | undefined;
  readonly classAnnotations?: Readonly<Record<string, string>> | undefined;
  /** Additional fields of all MachineClasses. */
  readonly classFields?: object;
  /** Wraps the connection from the machine controller to the cloud. */
  readonly wrapCloud?: ((transport: Transport) => Transport) | undefined;
  /** Whether two processes with each name compete for a Lease. With an election, the leader uses its fence. */
  readonly elections?: boolean;
  /** Whether the leader has no fence. With this defect, a test verifies the verifier. */
  readonly unfenced?: boolean;
  /** The tracer that gets the spans of driver calls. */
  readonly tracer?: DriverTracer;
  /** The journal in which all processes of both controllers record their decisions. */
  readonly journal?: Journal | undefined;
  /** Creates objects before the start of the controllers. */
  readonly furnish?: (admin: KubeClient) => Promise<void>;
  /** More data for the Secret of all classes, without base64. */
  readonly secretData?: Readonly<Record<string, string>>;
  /**
   * For each process, how far its clock is ahead of the simulated time, in milliseconds. If the clock is behind, the
   * value is negative. With leader election, the second value is for the second process with the name.
   */
  readonly skewMs?: Partial<Record<ProcessName, readonly number[]>>;
  /**
   * Whether the local cloud and the control plane store their data in files. After a crash, the last write in the files
   * is incomplete.
   */
  readonly disks?: boolean;
  /** Whether `World.restore` can restore a backup of the cluster. */
  readonly restorable?: boolean;
  /** The CRDs of additional kinds. */
  readonly crds?: typeof crds;
  /** The port at which other processes reach the API server. If `port` is undefined, the server does not listen. */
  readonly port?: number;
}
