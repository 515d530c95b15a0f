import type { Machine, MachineClass } from '@mcm/api';
import type { Clock, Fence, KubeError, Logger, Secret } from '@mcm/kube';
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
  delete: 15 * MINUTE,
  list: 10 * MINUTE,
  evidence: MINUTE / 4,
  watchInterruptions: MINUTE,
};

/**
 * `OnOverdue` is called when a driver call ignores its signal. With this callback, the caller waits until the driver
 * call ends, see `withDeadline`.
 */
export type OnOverdue = (error: MachineError) => void;

export type OnWaiting = (what: string) => void;

/**
 * Calls a driver for a machine or a class. Each call parses the class and the Secrets, has a deadline, and returns
 * errors without secrets.
 */
export interface DriverInvoker {
  readonly can: {
    readonly initialize: boolean;
    readonly status: boolean;
    readonly list: boolean;
    readonly evidence: boolean;
    readonly interruptions: boolean;
    readonly stop: boolean;
    readonly hibernate: boolean;
  };
  inputsOf(machine: Machine): string;
  classOf(machine: Machine): MachineClass | undefined;
  /**
   * Returns the offerings that the machine may have, the first choice first. `choicesOf` returns undefined if the
   * machine has no alternatives.
   */
  choicesOf(machine: Machine): readonly Choice[] | undefined;
  /**
   * Returns the problems of the alternatives of a class, one sentence each. If an alternative has a problem, the
   * machines of the class have no alternatives.
   */
  alternativeProblems(machineClass: MachineClass, text?: string): readonly string[];
  /** Returns the problems of a class and its Secrets that can be found without the cloud, one sentence each. */
  check(machineClass: MachineClass): readonly string[];
  /**
   * Returns one sentence for each field of a class that has no effect, with the most similar known field. Fields
   * without effect are not errors.
   */
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
  delete(machine: Machine, onOverdue?: OnOverdue): Promise<{ readonly lastKnownState?: string } | undefined>;
  evidence(machine: Machine, onOverdue?: OnOverdue): Promise<InstanceEvidence>;
  /** Returns the data of the Secrets, which no stored text may contain. */
  secretsOf(machine: Machine): ClassSecrets;
  list(machineClass: MachineClass, onOverdue?: OnOverdue): Promise<readonly ListedInstance[]>;
  /** Waits once for notices of interruptions, see `Driver.watchInterruptions`. */
  watchInterruptions(
    machineClass: MachineClass,
    notify: (notice: InterruptionNotice) => Promise<NoticeAnswer>,
  ): Promise<void>;
  interruptionSourceOf(machineClass: MachineClass): string | undefined;
  /** `volumeIdOf` returns undefined if the driver does not know the volume or its kind. */
  volumeIdOf(source: VolumeSource): string | undefined;
}

/** @param machine The machine of the call; undefined for a listing. */
export type ObserveCall = (
  call: keyof DriverTimeouts | 'volumeIds',
  ms: number,
  error: MachineError | undefined,
  machine?: Machine,
  machineClass?: MachineClass,
) => void;

/** `ObserveWait` is called for each request that waited, because the cloud limits the rate. */
export type ObserveWait = (lane: Lane, ms: number) => void;

export interface ClassProblem {
  readonly reason: Problem['reason'];
  readonly message: string;
}

/** @param problem Undefined if the call succeeded. */
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
  /** Returns the class with its last valid provider spec, if known. */
  readonly former?: (machineClass: MachineClass) => MachineClass | undefined;
  /**
   * The fence that is checked before each call that changes the cloud. `fence` is absent if no other process can be the
   * leader.
   */
  readonly fence?: Fence | undefined;
  /** Returns the control cluster of this process, see `OWNER_TAG`. Without `owner`, VMs do not get the owner tag. */
  readonly owner?: (() => string | undefined) | undefined;
  /** Control clusters that the control cluster of this process replaces. */
  readonly formerOwners?: readonly string[] | undefined;
  readonly observe?: ObserveCall | undefined;
  /** Returns other classes for the same machine, for calls whose credentials the cloud refuses. */
  readonly fallback?: ((machine: Machine, own: MachineClass) => readonly MachineClass[]) | undefined;
  /**
   * Returns the offerings that are recorded on machines of a class, for listings. If `recorded` is absent, only the
   * offerings of the class are listed.
   */
  readonly recorded?: ((machineClass: MachineClass) => readonly Alternative[]) | undefined;
  readonly observeApi?: ObserveApi | undefined;
  readonly observeWait?: ObserveWait | undefined;
  /**
   * `observeClass` is called when the cloud refuses a class, and after each successful call. With `observeClass`,
   * errors of the class or the Secret contain a hint.
   */
  readonly observeClass?: ObserveClass | undefined;
  readonly tracer?: DriverTracer | undefined;
}
