import { Annotations } from '@mcm/api';
import { type Change, ignoreNotFound, type Node, nodes } from '@mcm/kube';
import type { World, WorldOptions } from '../world/world.ts';
import { follow } from './follow.ts';

/** The label with the policy `Yield`, and the label with the policy `Enforce`. */
const YIELDED = 'example.com/team';
const ENFORCED = 'example.com/site';
const OURS = 'template';

/**
 * Changes labels of Nodes like another client, and reports wrong decisions of mcm:
 * - mcm never changes a label with the policy `Yield` after the other client changed the label.
 * - At the end, each label with the policy `Enforce` has the value of the template.
 */
export class DriftVerifier {
  readonly #world: World;
  /** The UIDs of Nodes whose label the other client changed. */
  readonly #changedUids = new Set<string>();
  #count = 0;

  private constructor(world: World) {
    this.#world = world;
  }

  /** The settings of the machines. */
  static readonly machine = { nodeTemplate: { metadata: { labels: { [YIELDED]: OURS, [ENFORCED]: OURS } } } };
  /** The policies of the classes. */
  static readonly classAnnotations: NonNullable<WorldOptions['classAnnotations']> = {
    [Annotations.DriftPolicy]: `labels/${YIELDED}=Yield`,
  };

  /** Runs the verifier until `signal` aborts. */
  static watch(world: World, signal: AbortSignal): DriftVerifier {
    const verifier = new DriftVerifier(world);
    follow<Node>(world, nodes, signal, (change) => verifier.#changed(change));
    return verifier;
  }

  /** The number of Nodes whose label another client changed. */
  get verified(): number {
    return this.#count;
  }

  /** Another client changes both labels of a Node. */
  async change(node: string, number: number): Promise<void> {
    this.#world.reporter.note('act', `another client changes the labels of Node ${node}`);
    const value = `user-${number}`;
    const body = { metadata: { labels: { [YIELDED]: value, [ENFORCED]: value } } };
    await ignoreNotFound(this.#world.admin.resource<Node>(nodes).patch(node, { type: 'merge', body }));
  }

  /** Verifies the labels of all Nodes after the fleet is complete. */
  async verifyEnd(): Promise<void> {
    for (const { metadata } of (await this.#world.admin.resource<Node>(nodes).list()).items) {
      const value = metadata.labels?.[ENFORCED];
      if (value !== OURS) this.#world.reporter.violate(`Node ${metadata.name} has ${ENFORCED}=${value}, not ${OURS}`);
    }
  }

  #changed({ type, object }: Change<Node>): void {
    const { uid, name, labels } = object.metadata;
    const value = labels?.[YIELDED];
    if (type === 'deleted') this.#changedUids.delete(uid);
    else if (value?.startsWith('user-') && !this.#changedUids.has(uid)) {
      this.#changedUids.add(uid);
      this.#count++;
    } else if (!value?.startsWith('user-') && this.#changedUids.has(uid))
      this.#world.reporter.violate(`mcm changed ${YIELDED} of Node ${name} to ${value}, although its policy is Yield`);
  }
}
