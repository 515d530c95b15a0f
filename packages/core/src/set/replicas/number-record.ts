import { Annotations, type Machine, type MachineSet, machineSets, machines } from '@mcm/api';
import { controllerOf, ignoreNotFound, isConflict, isNotFound, isNotSent, keyOf, type ResourceClient } from '@mcm/kube';
import { BY_CONTROLLER, type ControllerContext } from '../../control/caches.ts';
import { machineNumbersOf, numbersAfter, printMachineNumbers, unrecordedNames } from '../../objects/machine-names.ts';

export class NumberMemory {
  /** The names of machines whose create request got no response. mcm sends these requests again. */
  readonly unanswered: Set<string>;
  /** The names of existing machines. The numbers of these machines may be missing in the annotation. */
  readonly existed = new Set<string>();
  caughtUp = false;

  constructor(unanswered: Iterable<string>) {
    this.unanswered = new Set(unanswered);
  }

  /**
   * Records that a machine with the name exists, because the machine may be deleted before the next write of the
   * annotation.
   */
  exists(name: string): void {
    this.unanswered.delete(name);
    this.existed.add(name);
  }
}

/**
 * Maintains the annotation with the number of the set's next machine
 * (docs/decisions/0018-machine-names-from-a-count.md). Each number is used only once, so a new machine never has the
 * name of an earlier machine.
 */
export class NumberRecord {
  readonly #context: ControllerContext;
  readonly #sets: ResourceClient<MachineSet>;
  readonly #machines: ResourceClient<Machine>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#sets = context.client.resource(machineSets, context.namespace);
    this.#machines = context.client.resource(machines, context.namespace);
  }

  #namesOf({ metadata: { uid } }: MachineSet): string[] {
    return this.#context.machines.store.byIndex(BY_CONTROLLER, uid).map(({ metadata }) => metadata.name);
  }

  memoryOf(set: MachineSet): NumberMemory {
    return new NumberMemory(unrecordedNames(set, this.#namesOf(set)));
  }

  /**
   * Reads the set once before the first creation, because another process may have created machines that the caches
   * lack.
   * @returns false if the caches were outdated; the set must then decide again
   */
  async catchUp(set: MachineSet, memory: NumberMemory, signal: AbortSignal): Promise<boolean> {
    if (memory.caughtUp) return true;
    const live = await ignoreNotFound(this.#sets.get(set.metadata.name, { signal }));
    if (live?.metadata.uid !== set.metadata.uid) return false;
    this.#context.sets.recordWrite(live);
    const added = machineNumbersRecorded(live) ? await this.#missing(live, signal) : [];
    for (const machine of added) this.#context.machines.recordWrite(machine);
    for (const name of unrecordedNames(live, this.#namesOf(live))) memory.unanswered.add(name);
    memory.caughtUp = true;
    return added.length === 0 && live.metadata.resourceVersion === set.metadata.resourceVersion;
  }

  async #missing({ metadata: { uid }, spec }: MachineSet, signal: AbortSignal): Promise<readonly Machine[]> {
    const labelSelector = Object.entries(spec.selector.matchLabels ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(',');
    const { items } = await this.#machines.list({ labelSelector, signal });
    const known = new Set(this.#context.machines.store.byIndex(BY_CONTROLLER, uid).map(({ metadata }) => metadata.uid));
    return items.filter((machine) => controllerOf(machine)?.uid === uid && !known.has(machine.metadata.uid));
  }

  /** @returns false after a conflict, so that the caller reads the set again */
  async write(
    { metadata }: MachineSet,
    memory: NumberMemory,
    zones: string | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { sets } = this.#context;
    const set = sets.store.get(keyOf({ metadata }));
    if (set?.metadata.uid !== metadata.uid) return false;
    const { unanswered } = memory;
    const names = this.#namesOf(set);
    const existed = [...memory.existed];
    for (const name of [...names, ...existed]) unanswered.delete(name);
    const numbers = printMachineNumbers(numbersAfter(set, [...names, ...existed], unanswered));
    const zonesRecorded = set.metadata.annotations?.[Annotations.ZonesOfReplicas] ?? '';
    const wanted = zones ?? zonesRecorded;
    const recorded = (): true => {
      for (const name of existed) memory.existed.delete(name);
      return true;
    };
    if (numbers === printMachineNumbers(machineNumbersOf(set)) && wanted === zonesRecorded) return recorded();
    const { name, uid, resourceVersion } = set.metadata;
    const annotations: Record<string, string | null> = { [Annotations.NextMachineNumbers]: numbers };
    if (wanted !== zonesRecorded) annotations[Annotations.ZonesOfReplicas] = wanted || null;
    const body = { metadata: { uid, resourceVersion, annotations } };
    try {
      sets.recordWrite(await this.#sets.patch(name, { type: 'merge', body }, { signal, bookkeeping: true }));
      return recorded();
    } catch (error) {
      if (isNotSent(error)) return true;
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
  }
}

const machineNumbersRecorded = ({ metadata }: MachineSet): boolean =>
  metadata.annotations?.[Annotations.NextMachineNumbers] !== undefined;
