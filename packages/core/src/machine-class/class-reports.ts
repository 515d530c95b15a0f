import { type EventReason, formatFieldErrors, type MachineClass, validateMachineClass } from '@mcm/api';
import { again, type Clock, done, type EventRecorder, type Key, type Outcome } from '@mcm/kube';

/**
 * Describes the missing or invalid fields of the nodeTemplate. The CRDs of the original accept an invalid nodeTemplate,
 * so its problems are only warnings. Only the cluster-autoscaler reads the nodeTemplate, for a scale-up from zero
 * machines.
 */
function nodeTemplateProblems(machineClass: MachineClass): string {
  const problems = validateMachineClass(machineClass).filter(({ path }) => /^nodeTemplate\b/.test(path));
  const text = formatFieldErrors(problems);
  return text && `${text}; correct the field, or the cluster-autoscaler cannot scale the class from zero`;
}

/**
 * Users often create the Secret after the class, so mcm waits for this time before it reports the problems of a class.
 */
const PATIENCE_MS = 30_000;

interface ClassReportsOptions {
  readonly clock: Clock;
  readonly recorder: EventRecorder<EventReason>;
  readonly check: (machineClass: MachineClass) => readonly string[];
  readonly unknownFields: (machineClass: MachineClass) => readonly string[];
  readonly alternativeProblems: (machineClass: MachineClass) => readonly string[];
}

/** Reports the problems of classes: one event when the problems start, and one event when they end. */
export class ClassReports {
  readonly #options: ClassReportsOptions;
  readonly #reported = new Map<Key, string>();
  readonly #since = new Map<Key, number>();
  readonly #warned = { UnknownField: new Map<Key, string>(), InvalidClass: new Map<Key, string>() };

  constructor(options: ClassReportsOptions) {
    this.#options = options;
  }

  /** Reports the problems of a class, and returns the time of the next reconcile. */
  report(key: Key, machineClass: MachineClass): Outcome {
    this.#warn(key, machineClass, 'UnknownField', this.#options.unknownFields(machineClass).join('; '));
    const invalid = [nodeTemplateProblems(machineClass), ...this.#options.alternativeProblems(machineClass)];
    this.#warn(key, machineClass, 'InvalidClass', invalid.filter((text) => text !== '').join('; '));
    const problems = this.#options.check(machineClass).join('; ');
    if (!problems) this.#since.delete(key);
    if (problems === (this.#reported.get(key) ?? '')) return done;
    const now = this.#options.clock.now().getTime();
    if (problems && !this.#since.has(key)) this.#since.set(key, now);
    const waitMs = problems ? (this.#since.get(key) ?? now) + PATIENCE_MS - now : 0;
    if (waitMs > 0) return again(waitMs);
    this.#reported.set(key, problems);
    if (problems)
      this.#options.recorder.event(machineClass, 'Warning', 'InvalidClass', `mcm cannot create VMs: ${problems}`);
    else this.#options.recorder.event(machineClass, 'Normal', 'ClassIsValid', 'The class is valid again');
    return done;
  }

  forget(key: Key): void {
    for (const texts of Object.values(this.#warned)) texts.delete(key);
    this.#reported.delete(key);
    this.#since.delete(key);
  }

  #warn(key: Key, machineClass: MachineClass, reason: 'UnknownField' | 'InvalidClass', text: string): void {
    const warned = this.#warned[reason];
    if (text === (warned.get(key) ?? '')) return;
    warned.set(key, text);
    if (text) this.#options.recorder.event(machineClass, 'Warning', reason, text);
  }
}
