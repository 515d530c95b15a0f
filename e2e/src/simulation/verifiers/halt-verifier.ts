import { Labels, type Machine, machines } from '@mcm/api';
import { type Node, nodes } from '@mcm/kube';
import { NodeAnnotations } from '@mcm/machine-config';
import type { World } from '../world/world.ts';
import { follow } from './follow.ts';

const { DesiredConfig, State } = NodeAnnotations;

interface HaltRules {
  readonly haltDegraded: number;
  readonly lagMs: () => number;
}

interface Failed {
  readonly config: string;
  readonly since: number;
}

const annotation = ({ metadata }: Node, key: string): string => metadata.annotations?.[key] ?? '';
const isDegraded = (node: Node): boolean => ['Degraded', 'Unreconcilable'].includes(annotation(node, State));

/**
 * Verifies the circuit breaker of pools: if too many nodes cannot apply a configuration, no further node gets this
 * configuration.
 */
export class HaltVerifier {
  readonly #world: World;
  readonly #rules: HaltRules;
  readonly #nodes = new Map<string, Node>();
  readonly #failed = new Map<string, Failed>();
  readonly #machines = new Map<string, Machine>();

  constructor(world: World, rules: HaltRules) {
    [this.#world, this.#rules] = [world, rules];
  }

  watch(signal: AbortSignal): void {
    if (this.#rules.haltDegraded === 0) return;
    follow<Machine>(this.#world, machines, signal, ({ type, object }) => {
      if (type === 'deleted') this.#machines.delete(object.metadata.uid);
      else this.#machines.set(object.metadata.uid, object);
    });
    follow<Node>(this.#world, nodes, signal, ({ type, object }) => {
      if (type === 'deleted') for (const one of [this.#nodes, this.#failed]) one.delete(object.metadata.uid);
      else this.#changed(object);
    });
  }

  #changed(node: Node): void {
    const { uid } = node.metadata;
    const before = this.#nodes.get(uid);
    const config = annotation(node, DesiredConfig);
    this.#nodes.set(uid, node);
    if (before && annotation(before, DesiredConfig) !== config) this.#verify(before, config);
    const known = this.#failed.get(uid);
    if (!isDegraded(node)) this.#failed.delete(uid);
    else if (known?.config !== config) this.#failed.set(uid, { config, since: this.#world.clock.now().getTime() });
  }

  #verify(node: Node, config: string): void {
    const isNew = annotation(node, DesiredConfig) === '';
    if (isNew || (isDegraded(node) && node.spec?.unschedulable)) return;
    const old = this.#world.clock.now().getTime() - this.#rules.lagMs();
    const others = [...this.#failed].filter(([, one]) => one.config === config && one.since < old);
    // A node without a machine belongs to no pool of machines, so the node does not count.
    const owned = new Set([...this.#machines.values()].map(({ metadata }) => metadata.labels?.[Labels.Node]));
    const names = others
      .flatMap(([uid]) => this.#nodes.get(uid)?.metadata.name ?? [])
      .filter((name) => name !== node.metadata.name && owned.has(name));
    if (names.length >= this.#rules.haltDegraded)
      this.#world.reporter.violate(
        `node ${node.metadata.name} gets configuration ${config}, although the rollout must stop because the nodes ${names.join(', ')} cannot apply it`,
      );
  }
}
