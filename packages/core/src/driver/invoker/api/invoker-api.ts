import type { Machine, MachineClass } from '@mcm/api';
import type { Clock, Fence, KubeError, Logger, Secret } from '@mcm/kube';
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

/** Timeout of each call, in milliseconds. */
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
 * Called when a call ignores its signal. The caller waits until the call ends, see `withDeadline`. If the callback is
 * absent, the caller stops waiting.
 */
export type OnOverdue = (error: MachineError) => void;

/** Receives the reason why a creation waits, without secrets. */
export type OnWaiting = (what: string) => void;

/**
 * Calls a driver for a machine or a class. For each call, the invoker looks up and parses the class and the Secrets, sets
 * the deadline, and removes secrets from errors.
 */
export interface DriverInvoker {
  readonly can: {
    readonly initialize: boolean;
    readonly status: boolean;
    readonly list: boolean;
    readonly evidence: boolean;
    readonly interruptions: boolean;
    /** True if the driver can stop and start VMs. */
    readonly stop: boolean;
    /** True if a stopped VM can keep its memory. */
    readonly hibernate: boolean;
  };
  /** Returns the versions of the class and the Secrets that a call for the machine would use. */
  inputsOf(machine: Machine): string;
  classOf(machine: Machine): MachineClass | undefined;
  /**
   * Returns the offerings that the machine may have, the first choice first. Undefined if the machine has no alternatives.
   */
  choicesOf(machine: Machine): readonly Choice[] | undefined;
  /**
   * Returns the problems of the alternatives of a class, one sentence each. If there are problems, the machines of the class
   * have no alternatives.
   */
  alternativeProblems(machineClass: MachineClass, text?: string): readonly string[];
  /** Returns the problems of a class and its Secrets that can be found without the cloud, one sentence each. */
  check(machineClass: MachineClass): readonly string[];
  /**
   * Returns the fields of a class that have no effect, with one sentence for each field. The sentence names the most
   * similar known field. These fields do not count as errors.
   */
  unknownFields(machineClass: MachineClass): readonly string[];
  /** Returns the bytes of the user data of the class. Undefined if there is no user data. */
  userDataOf(machine: Machine): Uint8Array | undefined;
  create(
    machine: Machine,
    render: (userData: Uint8Array) => Promise<Uint8Array>,
    onOverdue?: OnOverdue,
    onWaiting?: OnWaiting,
  ): Promise<CreatedInstance>;
  initialize(machine: Machine, onOverdue?: OnOverdue): Promise<Instance>;
  status(machine: Machine, onOverdue?: OnOverdue): Promise<FoundInstance>;
  /** Stops the VM of a machine, see `Driver.stop`. */
  stop(machine: Machine, hibernate: boolean, onOverdue?: OnOverdue): Promise<void>;
  /** Starts the stopped VM of a machine, see `Driver.start`. */
  start(machine: Machine, onOverdue?: OnOverdue): Promise<void>;
  delete(machine: Machine, onOverdue?: OnOverdue): Promise<{ readonly lastKnownState?: string } | undefined>;
  evidence(machine: Machine, onOverdue?: OnOverdue): Promise<InstanceEvidence>;
  /** Returns the data of the Secrets of the machine's class. No stored text may contain this data. */
  secretsOf(machine: Machine): ClassSecrets;
  list(machineClass: MachineClass, onOverdue?: OnOverdue): Promise<readonly ListedInstance[]>;
  /** Waits once for notices of interruptions, see `Driver.watchInterruptions`. */
  watchInterruptions(
    machineClass: MachineClass,
    notify: (notice: InterruptionNotice) => Promise<NoticeAnswer>,
  ): Promise<void>;
  /** Returns the source of notices of a class. Undefined if there is no source. */
  interruptionSourceOf(machineClass: MachineClass): string | undefined;
  /** Returns the cloud's ID of a volume. Undefined if the driver does not know the volume or its kind. */
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

/** The reason why the cloud refuses a class. The text contains no secrets. */
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

/** The methods of an informer that the invoker calls. */
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
  /** Returns the class with its last valid provider spec. Absent or undefined if no valid provider spec is known. */
  readonly former?: (machineClass: MachineClass) => MachineClass | undefined;
  /** Checked before each call that changes the cloud. Absent if no other process can be the leader. */
  readonly fence?: Fence | undefined;
  /** Returns the control cluster of this process, see `OWNER_TAG`. If absent or undefined, VMs do not get this tag. */
  readonly owner?: (() => string | undefined) | undefined;
  /** Control clusters that this control cluster replaces. Absent if there are no such control clusters. */
  readonly formerOwners?: readonly string[] | undefined;
  /** Called for every call that has ended, for metrics. */
  readonly observe?: ObserveCall | undefined;
  /**
   * Returns the classes whose credentials are tried if the cloud refuses the credentials of the machine's class. Absent if
   * no other credentials are tried.
   */
  readonly fallback?: ((machine: Machine, own: MachineClass) => readonly MachineClass[]) | undefined;
  /**
   * Returns the offerings that are recorded on machines of a class, for listings. If absent, only the offerings of the class
   * are listed.
   */
  readonly recorded?: ((machineClass: MachineClass) => readonly Alternative[]) | undefined;
  /** Called for every request that the driver reports, for metrics. */
  readonly observeApi?: ObserveApi | undefined;
  /**
   * Called when the cloud refuses a class, and after each successful call. If present, errors that the class or the Secret
   * cause contain a hint.
   */
  readonly observeClass?: ObserveClass | undefined;
  /** Creates a span for each call. If absent, there are no spans. */
  readonly tracer?: DriverTracer | undefined;
}
