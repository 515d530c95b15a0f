import { Annotations, type Machine, type MachineSet, PreserveValues } from '@mcm/api';
import type { ResourceClient } from '@mcm/kube';
import { BY_CONTROLLER, type ControllerContext, NO_CONTROLLER } from '../../control/caches.ts';
import { adoptionPatch, claim, releasePatch } from '../../objects/claim.ts';
import { planAutoPreservation } from '../../objects/preservation.ts';
import { compileSelector } from '../../objects/selector.ts';
import { machineSpecPatch } from '../../objects/template-sync.ts';
import type { MachineWriter } from './machine-writer.ts';
import { effectiveCreationTimeout } from './new-machine.ts';

export class MachineAdoption {
  readonly #context: ControllerContext;
  readonly #sets: ResourceClient<MachineSet>;
  readonly #writer: MachineWriter;

  constructor(context: ControllerContext, sets: ResourceClient<MachineSet>, writer: MachineWriter) {
    this.#context = context;
    this.#sets = sets;
    this.#writer = writer;
  }

  #machinesOf(set: MachineSet): readonly Machine[] {
    return this.#context.machines.store.byIndex(BY_CONTROLLER, set.metadata.uid);
  }

  async claim(set: MachineSet, signal: AbortSignal): Promise<readonly Machine[]> {
    const { store } = this.#context.machines;
    const owner = { uid: set.metadata.uid, deleting: false };
    const matches = compileSelector(set.spec.selector);
    const { owned, adopt, release } = claim(owner, matches, [
      ...this.#machinesOf(set),
      ...store.byIndex(BY_CONTROLLER, NO_CONTROLLER),
    ]);
    if (adopt.length > 0) await this.#assertAlive(set, adopt, signal);
    await this.#writer.patchAll(
      [
        ...adopt.map((machine) => ({ machine, body: adoptionPatch(set, machine) })),
        ...release.map((machine) => ({ machine, body: releasePatch(set.metadata.uid, machine) })),
      ],
      signal,
    );
    return adopt.length + release.length > 0 ? this.#machinesOf(set) : owned;
  }

  /**
   * The garbage collector would delete machines that a deleted set adopted, so mcm reads the set from the API server.
   */
  async #assertAlive(set: MachineSet, wanted: readonly Machine[], signal: AbortSignal): Promise<void> {
    const { name, uid } = set.metadata;
    const live = await this.#sets.get(name, { signal });
    if (live.metadata.uid === uid && live.metadata.deletionTimestamp === undefined) return;
    const machines = wanted.map((machine) => machine.metadata.name).join(', ');
    throw new Error(`${name} does not exist or is being deleted, so mcm does not adopt ${machines}`);
  }

  /** Copies fields from the template to the machines. A change of these fields needs no rollout. */
  async sync(set: MachineSet, machines: readonly Machine[], signal: AbortSignal): Promise<void> {
    const bodies = new Map<Machine, { spec?: object; metadata?: object }>();
    const ownCreationTimeout = effectiveCreationTimeout(set) !== undefined;
    for (const machine of machines) {
      const spec = machineSpecPatch(set.spec.template.spec, machine, { ownCreationTimeout });
      if (spec !== undefined) bodies.set(machine, { spec });
    }
    const max = set.spec.autoPreserveFailedMachineMax ?? 0;
    const { preserve, stop } = planAutoPreservation(machines, max, this.#context.clock.now());
    const annotate = (machine: Machine, value: string | null) =>
      bodies.set(machine, { ...bodies.get(machine), metadata: { annotations: { [Annotations.Preserve]: value } } });
    for (const machine of preserve) annotate(machine, PreserveValues.AutoPreserved);
    for (const machine of stop) annotate(machine, null);
    await this.#writer.patchAll(
      [...bodies].map(([machine, body]) => ({ machine, body })),
      signal,
    );
  }
}
