import { Labels, type Machine, type MachineSet, machineSets, machines } from '@mcm/api';
import { type Clock, createInformer, type KubeClient, type Logger, type Node, nodes, seededRandom } from '@mcm/kube';
import type { Reporter } from '../record/reporter.ts';

/** The sizes of the sets in the API server, by UID. */
export class WorldEyes {
  readonly #sizes = new Map<string, number>();
  readonly #reducedAt = new Map<string, number>();
  readonly #classes = new Map<string, string | undefined>();

  sizeOf(setUid: string): number {
    return this.#sizes.get(setUid) ?? 0;
  }

  /** Time at which the size of a set was last reduced, in virtual milliseconds since 1970. */
  reducedAt(setUid: string): number | undefined {
    return this.#reducedAt.get(setUid);
  }

  /** Name of the class of a set's template. */
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
    setInformer.onChange(({ object: { metadata, spec } }) => {
      const size = spec.replicas ?? 0;
      if (size < this.sizeOf(metadata.uid)) this.#reducedAt.set(metadata.uid, clock.now().getTime());
      this.#sizes.set(metadata.uid, size);
      this.#classes.set(metadata.uid, spec.template.spec.class.name);
    });
    const machineInformer = createInformer<Machine>(admin, machines, options);
    // Older objects that a restored server shows again are not new actions.
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
