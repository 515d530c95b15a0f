import type { crds } from '@mcm/api';
import type { DriverTracer } from '@mcm/core';
import type { KubeClient, Transport } from '@mcm/kube';
import type { KubeletBehaviour } from '@mcm/provider-local';
import type { ProfileName } from '../network/weather.ts';
import type { Death } from './process.ts';

export const NAMESPACE = 'default';
/** Of the local cloud, in the Secret of the classes; every request to it goes through a transport of the simulation. */
export const ENDPOINT = 'http://cloud.invalid';

/** The processes that a simulation can kill. */
export type ProcessName = 'manager' | 'machine-controller';

export interface WorldOptions {
  readonly seed?: number;
  /** How late and how faulty requests, answers and events are; default `none`. */
  readonly profile?: ProfileName | undefined;
  /** When each process dies, once; it is started again `restartAfterMs` later. */
  readonly deaths?: Partial<Record<ProcessName, Death>>;
  readonly restartAfterMs?: number;
  /** Behavior of all hollow kubelets. */
  readonly kubelets?: KubeletBehaviour;
  readonly maxSurge?: number;
  readonly maxUnavailable?: number;
  /** `--max-unhealthy-replacements` of both controllers. */
  readonly maxUnhealthyReplacements?: number;
  /** Annotations of the deployment. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Machines are updated where they are; instead of a rolling update. */
  readonly inPlace?: 'Auto' | 'Manual';
  /** Names of MachineClasses in addition to `blue` and `green`. */
  readonly moreClasses?: readonly string[];
  /** Settings of every machine, such as `creationTimeout`. */
  readonly machine?: object;
  /** Wraps the requests of a controller to the API server, for example with another identity. */
  readonly wrap?: (name: ProcessName, transport: Transport) => Transport;
  /** Wraps what the machine controller asks the cloud. */
  readonly wrapCloud?: (transport: Transport) => Transport;
  /** Two processes of each name take part in the election, and the leader works with its fence. */
  readonly elections?: boolean;
  /** Elections without a fence, to see that it is missed. */
  readonly unfenced?: boolean;
  /** Gets the spans of the driver's calls. */
  readonly tracer?: DriverTracer;
  /** Makes what must be there before the controllers start. */
  readonly furnish?: (admin: KubeClient) => Promise<void>;
  /** More data of the Secret of all classes, decoded. */
  readonly secretData?: Readonly<Record<string, string>>;
  /** How far the time of day of a process goes ahead of the world's, in milliseconds; negative: behind. */
  readonly skewMs?: Partial<Record<ProcessName, number>>;
  /** Backups of the cluster can be restored, see `World.restore`. */
  readonly restorable?: boolean;
  /** More kinds. */
  readonly crds?: typeof crds;
  /** Where the API server listens, for processes; absent: nowhere. */
  readonly port?: number;
}
