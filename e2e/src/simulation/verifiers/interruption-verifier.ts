import { Annotations, type Machine, machines } from '@mcm/api';
import type { Change } from '@mcm/kube';
import type { Instance } from '@mcm/provider-local';
import { BOUNDS } from '../record/bounds.ts';
import type { World } from '../world/world.ts';
import { follow } from './follow.ts';

type Kind = 'Terminate' | 'Maintenance' | 'Ended' | 'Rebalance' | 'Freeze';

interface Announced {
  readonly id: string;
  readonly kind: Kind;
  readonly vm: string;
  readonly name: string;
}

const REPLACES: ReadonlySet<string> = new Set<Kind>(['Terminate', 'Maintenance']);

/**
 * Reports wrong reactions to interruptions. These rules apply:
 * - If a Machine records an interruption, the cloud has announced this interruption of the VM, and the kind of
 *   interruption requires a replacement.
 * - Without faults, a machine is deleted a few seconds after the notice, and another machine replaces it. mcm deletes
 *   the interrupted VM before the cloud terminates the VM.
 * - At the end, no Machine records an interruption, and the queue of the cloud is empty.
 */
export class InterruptionVerifier {
  readonly #world: World;
  readonly #announced = new Map<string, Announced>();
  readonly #machines = new Map<string, Machine>();
  readonly #recorded = new Set<string>();
  #verified = 0;

  private constructor(world: World) {
    this.#world = world;
  }

  static watch(world: World, signal: AbortSignal): InterruptionVerifier {
    const verifier = new InterruptionVerifier(world);
    follow<Machine>(world, machines, signal, (change) => verifier.#changed(change));
    return verifier;
  }

  get verified(): number {
    return this.#verified;
  }

  announce({ id: vm, name, state }: Instance, kind: Kind, noticeMs: number): void {
    if (state !== 'running' && state !== 'pending') return;
    this.#world.reporter.note('act', `the cloud announces an interruption of ${name} in ${noticeMs} ms (${kind})`);
    const { interruption } = this.#world.cloud.interruptions.announce(vm, { kind, noticeMs, detail: 'by chance' });
    if (interruption) this.#announced.set(interruption.id, { id: interruption.id, kind, vm, name });
  }

  #changed({ type, object }: Change<Machine>): void {
    const { uid, name, annotations } = object.metadata;
    if (type === 'deleted') {
      this.#machines.delete(uid);
      return;
    }
    this.#machines.set(uid, object);
    const text = annotations?.[Annotations.Interruption];
    if (text === undefined) return;
    const { id = '' }: { readonly id?: string } = JSON.parse(text);
    if (!this.#recorded.has(`${uid} ${id}`)) this.#verified++;
    this.#recorded.add(`${uid} ${id}`);
    const announced = this.#announced.get(id);
    if (!announced) this.#violate(`machine ${name} has the unknown interruption ${id}`);
    else if (!REPLACES.has(announced.kind))
      this.#violate(`machine ${name} reports an interruption of the wrong kind ${announced.kind}`);
    else if (!object.spec.providerID?.endsWith(`/${announced.vm}`))
      this.#violate(`machine ${name} reports the interruption of another VM, ${announced.vm}`);
  }

  /** Announces the end of a VM while there are no faults, and verifies each step. */
  async verifyTimely(): Promise<void> {
    const { clock, cloud } = this.#world;
    const all = await this.#world.machines();
    const machine = all.find(({ status }) => status?.currentStatus?.phase === 'Running');
    const vm = [...cloud.instances.list()].find(
      ({ id, state }) => state === 'running' && machine?.spec.providerID?.endsWith(`/${id}`),
    );
    if (machine && vm) {
      const { name, uid } = machine.metadata;
      // A notice with a later deadline may already be acknowledged.
      this.announce(vm, 'Terminate', BOUNDS.interruptedGone.ms);
      await clock.advance(BOUNDS.interrupted.ms);
      const now = this.#machines.get(uid);
      if (now && now.metadata.deletionTimestamp === undefined)
        this.#violate(
          `${BOUNDS.interrupted.ms} ms after the notice of the interruption, machine ${name} is not being deleted`,
        );
      const successors = (await this.#world.machines()).filter(
        ({ metadata }) => !all.some((each) => each.metadata.uid === metadata.uid),
      );
      if (successors.length === 0) this.#violate(`no machine replaces machine ${name} after the notice`);
      await clock.advance(BOUNDS.interruptedGone.ms - BOUNDS.interrupted.ms - 1_000);
      if (this.#machines.has(uid)) this.#violate(`machine ${name} still exists at its deadline`);
      const state = [...cloud.instances.list()].find(({ id }) => id === vm.id)?.state;
      if (state === 'running') this.#violate(`VM ${vm.id} of ${name} still runs at its deadline`);
    } else {
      // mcm keeps the notice of a VM without a machine for two minutes, because the machine may be recorded later.
      await clock.advance(BOUNDS.interruptedGone.ms + BOUNDS.interrupted.ms);
    }
    for (const { metadata } of await this.#world.machines())
      if (metadata.annotations?.[Annotations.Interruption] !== undefined && metadata.deletionTimestamp === undefined)
        this.#violate(`the interruption has ended, but machine ${metadata.name} still reports it`);
    const left = cloud.interruptions.pending(() => true);
    for (const { name } of left)
      this.#violate(`the interruption notice for ${name} is still in the queue of the cloud`);
  }

  #violate(text: string): void {
    this.#world.reporter.violate(text);
  }
}
