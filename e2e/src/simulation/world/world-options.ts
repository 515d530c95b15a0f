import type { crds } from '@mcm/api';
import type { KillPoint } from '@mcm/conformance/fleet';
import type { buildMachineController, DriverTracer, Journal } from '@mcm/core';
import type { KubeClient, Transport } from '@mcm/kube';
import type { KubeletBehaviour } from '@mcm/provider-local';
import type { ProfileName } from '../network/profiles.ts';

export const NAMESPACE = 'default';
/**
 * The endpoint of the local cloud in the Secret of the classes. The transport of the simulation receives the requests,
 * so nothing connects to this address.
 */
export const ENDPOINT = 'http://cloud.invalid';

/** The largest number of warm machines that a user of the histories `warm` requests. */
export const MOST_WARM = 3;

/** The processes that a simulation can kill. */
export type ProcessName = 'manager' | 'machine-controller';

export interface WorldOptions {
  /** Whether the machine controller has its own ServiceAccount, as in separate pods. */
  readonly isSeparate?: boolean;
  readonly seed?: number;
  /** The latencies and faults of requests, responses and events. By default, `profile` is `none`. */
  readonly profile?: ProfileName | undefined;
  /** The time at which each process is killed. The process is started again after `restartAfterMs`. */
  readonly killPoints?: Partial<Record<ProcessName, KillPoint>>;
  readonly restartAfterMs?: number;
  readonly kubelets?: KubeletBehaviour;
  readonly maxSurge?: number;
  readonly maxUnavailable?: number;
  /** The webhooks that run the steps of hooks. */
  readonly hookWebhooks?: Parameters<typeof buildMachineController>[0]['hookWebhooks'];
  /** The flag `--interruptions` of the machine controller. */
  readonly interruptions?: boolean;
  /** The flags `--disruption-report` of the manager and `--record-vm-states` of the machine controller. */
  readonly reports?: boolean | undefined;
  /** The flag `--capacity-buffers` of the manager. */
  readonly capacityBuffers?: boolean;
  /** The flag `--max-unhealthy-replacements` of both controllers. */
  readonly maxUnhealthyReplacements?: number;
  /** The annotations of the deployment. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** `inPlace` is set if the deployment uses in-place updates instead of rolling updates. */
  readonly inPlace?: 'Auto' | 'Manual';
  /** The names of MachineClasses in addition to `blue` and `green`. */
  readonly moreClasses?: readonly string[] | undefined;
  /** The settings of every machine, such as `creationTimeout`. */
  readonly machine?: object;
  /** Wraps the requests of a controller to the API server, for example with another identity. */
  readonly wrap?: ((name: ProcessName, transport: Transport) => Transport) | undefined;
  readonly classAnnotations?: Readonly<Record<string, string>> | undefined;
  /** Additional fields of all MachineClasses. */
  readonly classFields?: object;
  /** Wraps the requests of the machine controller to the cloud. */
  readonly wrapCloud?: ((transport: Transport) => Transport) | undefined;
  /**
   * Whether two processes of each name take part in the leader election. With an election, the leader uses its fence.
   */
  readonly elections?: boolean;
  /** Whether the leader works without a fence, to test that the verifier detects this. */
  readonly unfenced?: boolean;
  /** Receives the spans of the driver's calls. */
  readonly tracer?: DriverTracer;
  /** Receives the decisions of all processes of both controllers. */
  readonly journal?: Journal | undefined;
  /** Creates objects before the controllers start. */
  readonly furnish?: (admin: KubeClient) => Promise<void>;
  /** Additional decoded data for the Secret of all classes. */
  readonly secretData?: Readonly<Record<string, string>>;
  /**
   * The difference between the clock of a process and the clock of the simulation, in milliseconds. Negative values
   * mean that the clock of the process is behind. With leader election, the second process of each name has the second
   * value.
   */
  readonly skewMs?: Partial<Record<ProcessName, readonly number[]>>;
  /**
   * Whether the local cloud and the control plane store their data in files. A crash leaves an incomplete write in the
   * files.
   */
  readonly disks?: boolean;
  /** Whether `World.restore` can restore backups of the cluster. */
  readonly restorable?: boolean;
  /** The CRDs of additional kinds. */
  readonly crds?: typeof crds;
  /** The port of the API server for other processes. Without `port`, the server does not listen. */
  readonly port?: number;
}
