import { Annotations } from '@mcm/api';
import { type Change, ignoreNotFound, type Node, nodes } from '@mcm/kube';
import type { World, WorldOptions } from '../world/world.ts';
import { follow } from './follow.ts';

const YIELDED = 'example.com/team';
const ENFORCED = 'example.com/site';
const OURS = 'template';

/**
 * Changes labels of Nodes as another client does, and verifies mcm:
 * - If the other client has changed a label with the policy `Yield`, mcm never changes it.
 * - At the end, a label with the policy `Enforce` has the value in the template.
 */
export class DriftVerifier {
  readonly #world: World;
  readonly #changedUids = new Set<string>();
  #count = 0;

  private constructor(world: World) {
    this.#world = world;
  }

  static readonly machine = { nodeTemplate: { metadata: { labels: { [YIELDED]: OURS, [ENFORCED]: OURS } } } };
  static readonly classAnnotations: NonNullable<WorldOptions['classAnnotations']> = {
    [Annotations.DriftPolicy]: `labels/${YIELDED}=Yield`,
  };

  static watch(world: World, signal: AbortSignal): DriftVerifier {
    const verifier = new DriftVerifier(world);
    follow<Node>(world, nodes, signal, (change) => verifier.#changed(change));
    return verifier;
  }

  get verified(): number {
    return this.#count;
  }

  async change(node: string, number: number): Promise<void> {
    this.#world.reporter.note('act', `another client changes the labels of Node ${node}`);
    const value = `user-${number}`;
    const body = { metadata: { labels: { [YIELDED]: value, [ENFORCED]: value } } };
    await ignoreNotFound(this.#world.admin.resource<Node>(nodes).patch(node, { type: 'merge', body }));
  }

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
