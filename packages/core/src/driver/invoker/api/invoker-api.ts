import type { Machine, MachineClass } from '@mcm/api';
import type { Clock, Fence, KubeError, Logger, Secret } from '@mcm/kube';
import type { InstanceEvidence } from '../../contract/bundle.ts';
import type {
  CreatedInstance,
  FoundInstance,
  Instance,
  ListedInstance,
  ObserveApi,
  VolumeSource,
} from '../../contract/driver.ts';
import type { MachineError } from '../../contract/errors.ts';
import type { ClassSecrets } from '../../schemas/credentials.ts';
import type { DriverDefinition } from '../../schemas/define-driver.ts';
import type { Problem } from '../../schemas/hint.ts';
import type { DriverTracer } from './tracing.ts';

/** The longest that each call may take, in milliseconds. */
export interface DriverTimeouts {
  readonly create: number;
  readonly initialize: number;
  readonly status: number;
  readonly delete: number;
  readonly list: number;
  readonly evidence: number;
}

const MINUTE = 60_000;

/** How long each call of a driver may take, in milliseconds. */
export const DRIVER_TIMEOUTS: DriverTimeouts = {
  create: 15 * MINUTE,
  initialize: 10 * MINUTE,
  status: 2 * MINUTE,
  delete: 15 * MINUTE,
  list: 10 * MINUTE,
  evidence: MINUTE / 4,
};

/** Told when a call ignores its signal; it is waited for all the same, see `withDeadline`. Absent: it is given up. */
export type OnOverdue = (error: MachineError) => void;

/** Told what a creation that goes on waits for, free of secrets. */
export type OnWaiting = (what: string) => void;

/** Calls of a driver by machine or class: class and Secrets looked up at the time of the call, parsed, deadline set, errors scrubbed. */
export interface DriverInvoker {
  readonly can: {
    readonly initialize: boolean;
    readonly status: boolean;
    readonly list: boolean;
    readonly evidence: boolean;
  };
  /** Versions of what a call for the machine would be made with. */
  inputsOf(machine: Machine): string;
  classOf(machine: Machine): MachineClass | undefined;
  /** What is wrong with a class and its Secrets as far as can be told without the cloud, one sentence each. */
  check(machineClass: MachineClass): readonly string[];
  /** What of a class has no effect, one sentence each that names the field and the nearest known one; no error. */
  unknownFields(machineClass: MachineClass): readonly string[];
  /** The bytes of the class's user data; undefined when there is none. */
  userDataOf(machine: Machine): Uint8Array | undefined;
  create(
    machine: Machine,
    render: (userData: Uint8Array) => Promise<Uint8Array>,
    onOverdue?: OnOverdue,
    onWaiting?: OnWaiting,
  ): Promise<CreatedInstance>;
  initialize(machine: Machine, onOverdue?: OnOverdue): Promise<Instance>;
  status(machine: Machine, onOverdue?: OnOverdue): Promise<FoundInstance>;
  delete(machine: Machine, onOverdue?: OnOverdue): Promise<{ readonly lastKnownState?: string } | undefined>;
  evidence(machine: Machine, onOverdue?: OnOverdue): Promise<InstanceEvidence>;
  /** Data of the Secrets of the machine's class, which no kept text may hold. */
  secretsOf(machine: Machine): ClassSecrets;
  list(machineClass: MachineClass, onOverdue?: OnOverdue): Promise<readonly ListedInstance[]>;
  /** The cloud's id of a volume; undefined for one of another kind, or when the driver cannot tell. */
  volumeIdOf(source: VolumeSource): string | undefined;
}

/** @param machine The machine that the call was for, and its class; undefined for a listing. */
export type ObserveCall = (
  call: keyof DriverTimeouts | 'volumeIds',
  ms: number,
  error: MachineError | undefined,
  machine?: Machine,
  machineClass?: MachineClass,
) => void;

/** What a cloud has against a class, fit to be shown. */
export interface ClassProblem {
  readonly reason: Problem['reason'];
  readonly message: string;
}

/** @param problem Undefined: the call worked. */
export type ObserveClass = (machineClass: MachineClass, call: string, problem: ClassProblem | undefined) => void;

/** Where classes and Secrets are looked up, by `namespace/name`. */
export interface InvokerCaches {
  readonly classes: Looked<MachineClass>;
  readonly secrets: Looked<Secret>;
}

/** Just as much of an informer as is asked. */
interface Looked<T> {
  readonly store: { get(key: string): T | undefined };
  readonly refused?: KubeError | undefined;
}

/** What the calls of a driver need around them. */
export interface InvokerOptions<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  readonly caches: InvokerCaches;
  readonly clock: Clock;
  readonly log: Logger;
  readonly stop: AbortSignal;
  readonly timeouts?: DriverTimeouts;
  /** The class with the provider spec that it had when it last made sense; absent, or undefined: none is known. */
  readonly former?: (machineClass: MachineClass) => MachineClass | undefined;
  /** Asked before each call that makes or deletes something; absent: nobody else can lead. */
  readonly fence?: Fence;
  /** The control cluster of this process, see `OWNER_TAG`; absent, or undefined: VMs bear no mark. */
  readonly owner?: (() => string | undefined) | undefined;
  /** Control clusters that this one was moved from; absent: none. */
  readonly formerOwners?: readonly string[] | undefined;
  /** Told of every call that ended; for metrics. */
  readonly observe?: ObserveCall;
  /** Classes whose credentials are tried when those of a machine's own class are refused; absent: none. */
  readonly fallback?: (machine: Machine, own: MachineClass) => readonly MachineClass[];
  /** Told of every request that the driver tells of; for metrics. */
  readonly observeApi?: ObserveApi;
  /**
   * Told what the cloud has against a class, and of each call for it that worked. Present: errors that class or Secret are
   * the cause of say what to do about it.
   */
  readonly observeClass?: ObserveClass | undefined;
  /** Where each call leaves a span; absent: none is made. */
  readonly tracer?: DriverTracer | undefined;
}
