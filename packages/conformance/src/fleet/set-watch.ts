import { Annotations, Labels, type Machine, type MachineSet, machineSets, machines } from '@mcm/api';
import {
  type Change,
  type Clock,
  controllerOf,
  createInformer,
  type KubeClient,
  type Logger,
  type Node,
  nodes,
  seededRandom,
} from '@mcm/kube';
import type { Reporter } from './reporter.ts';

/** A size of a set, with the time of its write in virtual milliseconds since 1970. */
interface Size {
  readonly at: number;
  readonly replicas: number;
}

const recordOf = (set: MachineSet | undefined): string | undefined =>
  set?.metadata.annotations?.[Annotations.NextMachineNumbers];

/** Watches the sets, machines and nodes in the API server, and passes each change to a {@link Reporter}. */
export class SetWatch {
  readonly #sizes = new Map<string, Size[]>();
  readonly #reducedAt = new Map<string, number>();
  /** Sets that were not deleted. */
  readonly #sets = new Map<string, MachineSet>();
  readonly #classes = new Map<string, string | undefined>();
  readonly #recordedAt = new Map<string, number>();
  /** For each set UID, the name of the set's deployment. Deleted sets stay in the map. */
  readonly #deployments = new Map<string, string>();

  sizeOf(setUid: string): number {
    return this.#sizes.get(setUid)?.at(-1)?.replicas ?? 0;
  }

  largestSince(setUid: string, since: number): number {
    const all = this.#sizes.get(setUid) ?? [];
    const first = all.findLastIndex(({ at }) => at <= since);
    return Math.max(0, ...all.slice(Math.max(first, 0)).map(({ replicas }) => replicas));
  }

  totalOf(setUid: string): number {
    const set = this.#sets.get(setUid);
    return set ? this.#total(controllerOf(set)?.uid) : 0;
  }

  #total(owner: string | undefined): number {
    const own = [...this.#sets.values()].filter((set) => controllerOf(set)?.uid === owner);
    return own.reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);
  }

  #setChanged({ type, object }: Change<MachineSet>, now: number, reporter: Reporter, isOld: boolean): void {
    const { metadata, spec } = object;
    const [before, size] = [this.sizeOf(metadata.uid), spec.replicas ?? 0];
    this.#classes.set(metadata.uid, spec.template.spec.class.name);
    const owner = controllerOf(object)?.name;
    if (owner !== undefined) this.#deployments.set(metadata.uid, owner);
    if (recordOf(object) !== recordOf(this.#sets.get(metadata.uid)))
      this.#recordedAt.set(metadata.uid, Number(metadata.resourceVersion));
    if (type === 'deleted') this.#sets.delete(metadata.uid);
    else this.#sets.set(metadata.uid, object);
    if (size === before) return;
    if (size < before) this.#reducedAt.set(metadata.uid, now);
    this.#sizes.set(metadata.uid, [...(this.#sizes.get(metadata.uid) ?? []), { at: now, replicas: size }]);
    if (size > before && !isOld) reporter.grows(object, this.#total(controllerOf(object)?.uid));
  }

  /** Returns the time at which the size of a set was last reduced, in virtual milliseconds since 1970. */
  reducedAt(setUid: string): number | undefined {
    return this.#reducedAt.get(setUid);
  }

  recordedAt(setUid: string): number {
    return this.#recordedAt.get(setUid) ?? 0;
  }

  deploymentOf(setUid: string): string | undefined {
    return this.#deployments.get(setUid);
  }

  classOf(setUid: string): string | undefined {
    return this.#classes.get(setUid);
  }

  /**
   * Watches until `signal` aborts, and passes every machine and every selected node to the verifier.
   * @param byHand Whether the user selects nodes.
   */
  watch(
    admin: KubeClient,
    seen: { clock: Clock; log: Logger; reporter: Reporter; byHand: boolean },
    signal: AbortSignal,
  ) {
    const { clock, log, reporter, byHand } = seen;
    const options = { clock, log, random: seededRandom(0) };
    const setInformer = createInformer<MachineSet>(admin, machineSets, options);
    setInformer.onChange((change) => this.#setChanged(change, clock.now().getTime(), reporter, setInformer.doubted));
    const machineInformer = createInformer<Machine>(admin, machines, options);
    // A restored server returns older objects again, which are not new actions.
    machineInformer.onChange((change) =>
      machineInformer.doubted ? reporter.relearns(change) : reporter.onChange(change),
    );
    const nodeInformer = createInformer<Node>(admin, nodes, options);
    nodeInformer.onChange(({ type, object: { metadata } }) => {
      const on = type !== 'deleted' && metadata.labels?.[Labels.SelectedForUpdate] !== undefined;
      reporter.selects(metadata.name, on, byHand);
    });
    for (const informer of [setInformer, machineInformer, nodeInformer]) {
      void informer.run(signal).catch((error: unknown) => reporter.violate(String(error)));
    }
  }
}
