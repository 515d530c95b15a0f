import type { Machine, MachineClass } from '@mcm/api';
import type { Clock, Fence, KubeError, Logger, Secret } from '@mcm/kube';
import type { AccountRates } from '../../cloud/account-rates.ts';
import type { Lane } from '../../cloud/lanes.ts';
import type { InstanceEvidence } from '../../contract/bundle.ts';
import type {
  CreatedInstance,
  FoundInstance,
  Instance,
  InterruptionNotice,
  ListedInstance,
  NoticeAnswer,
  ObserveApi,
  VolumeSource,
} from '../../contract/driver.ts';
import type { MachineError } from '../../contract/errors.ts';
import type { TagChanges } from '../../contract/tags.ts';
import type { Alternative, Choice } from '../../offerings/alternative.ts';
import type { ClassSecrets } from '../../schemas/credentials.ts';
import type { DriverDefinition } from '../../schemas/define-driver.ts';
import type { Problem } from '../../schemas/hint.ts';
import type { DriverTracer } from './tracing.ts';

/** Timeout of each driver method, in milliseconds. */
export interface DriverTimeouts {
  readonly create: number;
  readonly initialize: number;
  readonly status: number;
  readonly stop: number;
  readonly start: number;
  readonly tag: number;
  readonly delete: number;
  readonly list: number;
  readonly evidence: number;
  readonly watchInterruptions: number;
}

const MINUTE = 60_000;

/** The default timeouts, in milliseconds. */
export const DRIVER_TIMEOUTS: DriverTimeouts = {
  create: 15 * MINUTE,
  initialize: 10 * MINUTE,
  status: 2 * MINUTE,
  stop: 10 * MINUTE,
  start: 10 * MINUTE,
  tag: 2 * MINUTE,
  delete: 15 * MINUTE,
  list: 10 * MINUTE,
  evidence: MINUTE / 4,
  watchInterruptions: MINUTE,
};

/** Reports a driver call that ignores its aborted signal. */
export type OnOverdue = (error: MachineError) => void;

export type OnWaiting = (what: string) => void;

/**
 * Calls a driver for a machine or a class. The invoker validates the class and the Secrets, sets a deadline, and
 * removes secrets from errors.
 */
export interface DriverInvoker {
  readonly can: {
    readonly initialize: boolean;
    readonly status: boolean;
    readonly list: boolean;
    readonly evidence: boolean;
    readonly interruptions: boolean;
    readonly stop: boolean;
    readonly tag: boolean;
    readonly hibernate: boolean;
  };
  inputsOf(machine: Machine): string;
  classOf(machine: Machine): MachineClass | undefined;
  choicesOf(machine: Machine): readonly Choice[] | undefined;
  /** If one alternative of a class has a problem, mcm uses no alternative of the class. */
  alternativeProblems(machineClass: MachineClass, text?: string): readonly string[];
  check(machineClass: MachineClass): readonly string[];
  /** Returns one sentence for each field of a class that has no effect, with the most similar known field. */
  unknownFields(machineClass: MachineClass): readonly string[];
  userDataOf(machine: Machine): Uint8Array | undefined;
  create(
    machine: Machine,
    render: (userData: Uint8Array) => Promise<Uint8Array>,
    onOverdue?: OnOverdue,
    onWaiting?: OnWaiting,
  ): Promise<CreatedInstance>;
  initialize(machine: Machine, onOverdue?: OnOverdue): Promise<Instance>;
  status(machine: Machine, onOverdue?: OnOverdue): Promise<FoundInstance>;
  stop(machine: Machine, hibernate: boolean, onOverdue?: OnOverdue): Promise<void>;
  start(machine: Machine, onOverdue?: OnOverdue): Promise<void>;
  tag(machine: Machine, tags: TagChanges, onOverdue?: OnOverdue): Promise<void>;
  delete(machine: Machine, onOverdue?: OnOverdue): Promise<{ readonly lastKnownState?: string } | undefined>;
  evidence(machine: Machine, onOverdue?: OnOverdue): Promise<InstanceEvidence>;
  /** Returns the Secrets of the machine. */
  secretsOf(machine: Machine): ClassSecrets;
  /** @param tagKeys the keys of the tags that the list contains */
  list(
    machineClass: MachineClass,
    onOverdue?: OnOverdue,
    tagKeys?: readonly string[],
  ): Promise<readonly ListedInstance[]>;
  watchInterruptions(
    machineClass: MachineClass,
    notify: (notice: InterruptionNotice) => Promise<NoticeAnswer>,
  ): Promise<void>;
  interruptionSourceOf(machineClass: MachineClass): string | undefined;
  /** Returns the cloud's ID of a volume. */
  volumeIdOf(source: VolumeSource): string | undefined;
}

/** Called at the end of each driver call. */
export type ObserveCall = (
  call: keyof DriverTimeouts | 'volumeIds',
  ms: number,
  error: MachineError | undefined,
  machine?: Machine,
  machineClass?: MachineClass,
) => void;

export type ObserveWait = (lane: Lane, ms: number) => void;

export interface ClassProblem {
  readonly reason: Problem['reason'];
  readonly message: string;
}

export type ObserveClass = (machineClass: MachineClass, call: string, problem: ClassProblem | undefined) => void;

/** Caches of classes and Secrets, by `namespace/name`. */
export interface InvokerCaches {
  readonly classes: Looked<MachineClass>;
  readonly secrets: Looked<Secret>;
}

interface Looked<T> {
  readonly store: { get(key: string): T | undefined };
  readonly refused?: KubeError | undefined;
}

/** Options for the calls of a driver. */
export interface InvokerOptions<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  readonly caches: InvokerCaches;
  readonly clock: Clock;
  readonly log: Logger;
  readonly stop: AbortSignal;
  readonly timeouts?: DriverTimeouts | undefined;
  readonly former?: (machineClass: MachineClass) => MachineClass | undefined;
  /** The check that this process is still the leader, or undefined without leader election. */
  readonly fence?: Fence | undefined;
  /** Returns the ID of the control cluster of this process. If the ID is unknown, new VMs get no owner tag. */
  readonly owner?: (() => string | undefined) | undefined;
  /** The IDs of the control clusters that the current control cluster replaced. */
  readonly formerOwners?: readonly string[] | undefined;
  readonly observe?: ObserveCall | undefined;
  /** Returns other classes whose credentials mcm may use if the cloud refuses the credentials of a machine's class. */
  readonly fallback?: ((machine: Machine, own: MachineClass) => readonly MachineClass[]) | undefined;
  readonly recorded?: ((machineClass: MachineClass) => readonly Alternative[]) | undefined;
  readonly observeApi?: ObserveApi | undefined;
  readonly observeWait?: ObserveWait | undefined;
  /**
   * Called when the cloud refuses the class or its Secret, and after each successful call. With `observeClass`, errors
   * about the class or the Secret contain a hint.
   */
  readonly observeClass?: ObserveClass | undefined;
  readonly tracer?: DriverTracer | undefined;
  readonly rates?: AccountRates | undefined;
}
