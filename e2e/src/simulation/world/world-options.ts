import type { crds } from '@mcm/api';
import type { DriverTracer } from '@mcm/core';
import type { KubeClient, Transport } from '@mcm/kube';
import type { KubeletBehaviour } from '@mcm/provider-local';
import type { ProfileName } from '../network/weather.ts';
import type { Death } from '../processes/life.ts';

export const NAMESPACE = 'default';
/** Endpoint of the local cloud in the Secret of the classes. The transport of the simulation receives its requests. */
export const ENDPOINT = 'http://cloud.invalid';

/** The processes that a simulation can kill. */
export type ProcessName = 'manager' | 'machine-controller';

export interface WorldOptions {
  /** Whether the machine controller has its own ServiceAccount, as in pods of its own. */
  readonly isSeparate?: boolean;
  readonly seed?: number;
  /** Latencies and faults of requests, answers and events. Default `none`. */
  readonly profile?: ProfileName | undefined;
  /** The time of death of each process. It is started again `restartAfterMs` later. */
  readonly deaths?: Partial<Record<ProcessName, Death>>;
  readonly restartAfterMs?: number;
  /** Behavior of all simulated kubelets. */
  readonly kubelets?: KubeletBehaviour;
  readonly maxSurge?: number;
  readonly maxUnavailable?: number;
  /** `--max-unhealthy-replacements` of both controllers. */
  readonly maxUnhealthyReplacements?: number;
  /** Annotations of the deployment. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** In-place updates instead of a rolling update. */
  readonly inPlace?: 'Auto' | 'Manual';
  /** Names of MachineClasses in addition to `blue` and `green`. */
  readonly moreClasses?: readonly string[] | undefined;
  /** Settings of every machine, such as `creationTimeout`. */
  readonly machine?: object;
  /** Wraps the requests of a controller to the API server, for example with another identity. */
  readonly wrap?: ((name: ProcessName, transport: Transport) => Transport) | undefined;
  /** Wraps the requests of the machine controller to the cloud. */
  readonly wrapCloud?: (transport: Transport) => Transport;
  /** Two processes of each name take part in the election, and the leader works with its fence. */
  readonly elections?: boolean;
  /** Elections without a fence, to verify that the missing fence is detected. */
  readonly unfenced?: boolean;
  /** Gets the spans of the driver's calls. */
  readonly tracer?: DriverTracer;
  /** Creates objects before the controllers start. */
  readonly furnish?: (admin: KubeClient) => Promise<void>;
  /** More data of the Secret of all classes, decoded. */
  readonly secretData?: Readonly<Record<string, string>>;
  /** Offset of a process's time of day to that of the world, in milliseconds. Negative: behind. */
  readonly skewMs?: Partial<Record<ProcessName, number>>;
  /** The local cloud and the control plane store their data in files, which crashes leave with an incomplete write. */
  readonly disks?: boolean;
  /** Whether `World.restore` can restore backups of the cluster. */
  readonly restorable?: boolean;
  /** More kinds. */
  readonly crds?: typeof crds;
  /** Port of the API server for processes. Absent: it does not listen. */
  readonly port?: number;
}
