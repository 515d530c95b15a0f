import { Annotations, Labels, type Machine, machines, phaseOf } from '@mcm/api';
import { createInformer, type Node, nodes, seededRandom, silentLogger } from '@mcm/kube';
import { NodeAnnotations } from '@mcm/machine-config';
import { BOUNDS } from '../record/bounds.ts';
import type { World } from '../world/world.ts';

const { CurrentConfig, DesiredConfig, DesiredDrain, State } = NodeAnnotations;
const AWAY = new Set(['', 'Pending', 'Unknown', 'Failed', 'Terminating', 'CrashLoopBackOff']);
const LEFT_ALONE = new Set(['Terminating', 'Failed', 'InPlaceUpdating']);

export interface JoinRules {
  readonly poolOf: (deployment: string) => string | undefined;
  readonly limitOf: (pool: string) => number | undefined;
  /** Whether mcm must protect nodes in use from the autoscaler. */
  readonly protects?: boolean;
  /** Returns the longest delay, in milliseconds, of the objects on which a controller bases a decision. */
  readonly lagMs?: () => number;
}

const annotation = (node: Node | undefined, key: string): string => node?.metadata.annotations?.[key] ?? '';
const isHeard = ({ status }: Node): boolean =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
const isDone = (node: Node): boolean =>
  annotation(node, State) === 'Done' && annotation(node, CurrentConfig) === annotation(node, DesiredConfig);
const isAtWork = (node: Node): boolean => ['Working', 'Rebooting'].includes(annotation(node, State));
const isSelected = ({ metadata }: Node): boolean => metadata.labels?.[Labels.SelectedForUpdate] !== undefined;

/**
 * Reads Machines and Nodes, and reports conflicts between the machine controller and the machine-config-controller:
 * - A pool updates a node although the limit of the pool is reached, or although the machine of the node is being
 *   deleted or changed.
 * - A controller makes a node schedulable although the other controller requires the cordon.
 * - The autoscaler may remove a node although it is in use.
 */
export class JoinVerifier {
  readonly #world: World;
  readonly #rules: JoinRules;
  readonly #machines = new Map<string, Machine>();
  readonly #nodes = new Map<string, Node>();
  readonly #since = new Map<string, number>();
  reported: string[] = [];

  constructor(world: World, rules: JoinRules) {
    [this.#world, this.#rules] = [world, rules];
  }

  watch(signal: AbortSignal): void {
    const { admin, clock, reporter } = this.#world;
    const options = { clock, random: seededRandom(6), log: silentLogger };
    const ofNodes = createInformer<Node>(admin, nodes, options);
    const ofMachines = createInformer<Machine>(admin, machines, options);
    ofNodes.onChange(({ type, object }) => this.#nodeChanged(type, object));
    ofMachines.onChange(({ type, object }) => {
      if (type === 'deleted') this.#machines.delete(object.metadata.uid);
      else this.#machines.set(object.metadata.uid, object);
      this.#note();
    });
    for (const one of [ofNodes, ofMachines]) {
      void one.run(signal).catch((error: unknown) => reporter.violate(String(error)));
    }
  }

  #nodeChanged(type: string, node: Node): void {
    const { name } = node.metadata;
    const old = this.#nodes.get(name);
    const before = old?.metadata.uid === node.metadata.uid ? old : undefined;
    if (before && type !== 'deleted') {
      const desired = annotation(node, DesiredConfig);
      if (annotation(before, DesiredConfig) !== '' && annotation(before, DesiredConfig) !== desired) {
        this.#verifyTarget(before, desired);
      }
      if (before.spec?.unschedulable && !node.spec?.unschedulable) this.#verifyUncordoned(node);
    }
    if (type === 'deleted') this.#nodes.delete(name);
    else this.#nodes.set(name, node);
    this.#note();
    this.#verifyProtection(node);
  }

  #note(): void {
    const now = this.#world.clock.now().getTime();
    const holds = new Set<string>();
    for (const machine of this.#machines.values()) {
      const { uid } = machine.metadata;
      if (this.#isAway(machine)) holds.add(`away ${uid}`);
      if (this.#isBusy(machine)) holds.add(`busy ${uid}`);
      if (machine.metadata.deletionTimestamp !== undefined) holds.add(`goes ${uid}`);
    }
    for (const node of this.#nodes.values()) {
      if (!isAtWork(node) || annotation(node, Annotations.ScaleDownDisabled) === 'true') continue;
      const machine = this.#machineOf(node);
      if (machine && machine.metadata.deletionTimestamp === undefined) holds.add(`bare ${node.metadata.uid}`);
    }
    for (const key of this.#since.keys()) if (!holds.has(key)) this.#since.delete(key);
    for (const key of holds) if (!this.#since.has(key)) this.#since.set(key, now);
  }

  #holds(key: string, ms = this.#rules.lagMs?.() ?? 1_000): boolean {
    const since = this.#since.get(key);
    return since !== undefined && this.#world.clock.now().getTime() - since >= ms;
  }

  #nodeOf({ metadata }: Machine): Node | undefined {
    return this.#nodes.get(metadata.labels?.[Labels.Node] ?? '');
  }

  #machineOf({ metadata }: Node): Machine | undefined {
    const all = [...this.#machines.values()].filter((one) => one.metadata.labels?.[Labels.Node] === metadata.name);
    return all.find((one) => !one.metadata.deletionTimestamp) ?? all[0];
  }

  #poolOf({ metadata }: Machine): string | undefined {
    return this.#rules.poolOf(metadata.labels?.name ?? '');
  }

  /** Returns true if a machine is unavailable for any reason. */
  #isAway(machine: Machine): boolean {
    const node = this.#nodeOf(machine);
    if (!node) return AWAY.has(phaseOf(machine) ?? '');
    if (phaseOf(machine) === 'Failed' || !isHeard(node) || node.spec?.unschedulable) return true;
    const failing = ['Degraded', 'Unreconcilable', 'Waiting'].includes(annotation(node, State));
    return !isDone(node) && !failing;
  }

  #isBusy(machine: Machine): boolean {
    const node = this.#nodeOf(machine);
    if (machine.metadata.deletionTimestamp !== undefined || LEFT_ALONE.has(phaseOf(machine) ?? '')) return true;
    return node !== undefined && isSelected(node);
  }

  #verifyTarget(node: Node, desired: string): void {
    const { reporter } = this.#world;
    const machine = this.#machineOf(node);
    const pool = machine && this.#poolOf(machine);
    const limit = pool === undefined ? undefined : this.#rules.limitOf(pool);
    if (!machine || pool === undefined || limit === undefined) return;
    const { name } = node.metadata;
    this.reported.push(name);
    if (this.#holds(`busy ${machine.metadata.uid}`)) {
      reporter.violate(
        `node ${name} gets configuration ${desired} although its machine is ${phaseOf(machine) || 'new'} or the machine controller updates the node`,
      );
    }
    if (this.#isAway(machine)) return;
    const others = [...this.#machines.values()].filter(
      (one) => one !== machine && this.#poolOf(one) === pool && this.#holds(`away ${one.metadata.uid}`),
    );
    if (others.length + 1 <= limit) return;
    const names = others.map((one) => `${one.metadata.name} (${phaseOf(one)})`).join(', ');
    reporter.violate(
      `node ${name} gets configuration ${desired} while ${names} are unavailable, but pool ${pool} allows only ${limit} unavailable nodes`,
    );
  }

  #verifyUncordoned(node: Node): void {
    const { name } = node.metadata;
    const machine = this.#machineOf(node);
    if (!machine) return;
    const say = (why: string) => this.#world.reporter.violate(`node ${name} becomes schedulable although ${why}`);
    if (this.#holds(`goes ${machine.metadata.uid}`)) say('the machine of the node is being deleted');
    if (annotation(node, DesiredDrain).startsWith('drain-')) say('the daemon keeps the node unschedulable');
    if (isSelected(node)) say('the machine controller keeps the node unschedulable');
  }

  #verifyProtection(node: Node): void {
    const { ScaleDownDisabled, ScaleDownDisabledByMCM } = Annotations;
    if (annotation(node, ScaleDownDisabledByMCM) !== '' && annotation(node, ScaleDownDisabled) === '') {
      this.#world.reporter.violate(
        `the manager must protect node ${node.metadata.name} from the autoscaler, but the annotation is missing`,
      );
    }
    const key = `bare ${node.metadata.uid}`;
    if (!this.#since.has(key) || this.#rules.protects === false) return;
    this.#world.clock.setTimeout(() => {
      if (!this.#holds(key, BOUNDS.protected.ms)) return;
      this.#since.delete(key);
      this.#world.reporter.violate(`node ${node.metadata.name} is in use, but is not protected from the autoscaler`);
    }, BOUNDS.protected.ms);
  }
}
