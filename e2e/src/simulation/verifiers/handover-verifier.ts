import { Labels, type Machine, type MachineDeployment, machineDeployments, machines, phaseOf } from '@mcm/api';
import { controllerOf, createInformer, type KubeObject, type Node, nodes, seededRandom, silentLogger } from '@mcm/kube';
import {
  ConfigAnnotations,
  type MachineConfigPool,
  machineConfigPools,
  NodeAnnotations,
  referencesOf,
} from '@mcm/machine-config';
import type { World } from '../world/world.ts';

const { TemplateConfig, TemplateSince } = ConfigAnnotations;
const { CurrentConfig, DesiredConfig, State } = NodeAnnotations;

interface Seen {
  machine: Machine;
  lostAt: number;
}

const isThere = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp === undefined && phaseOf(machine) === 'Running';

/** Verifies rollouts that a pool started: enough other machines must be ready before mcm removes a ready machine. */
export class HandoverVerifier {
  readonly #world: World;
  readonly #lagMs: () => number;
  readonly #machines = new Map<string, Seen>();
  readonly #configured = new Map<string, string>();
  readonly #sizes: { readonly at: number; readonly least: number }[] = [];
  #isHandedOver = false;
  #template = '';
  #pools = new Set<string>();

  /** @param lagMs Returns the longest delay of the caches on which mcm bases a deletion. */
  constructor(world: World, lagMs: () => number) {
    [this.#world, this.#lagMs] = [world, lagMs];
  }

  watch(signal: AbortSignal): void {
    const { admin, clock, reporter } = this.#world;
    const options = { clock, random: seededRandom(8), log: silentLogger };
    const ofNodes = createInformer<Node>(admin, nodes, options);
    ofNodes.onChange(({ type, object }) => this.#nodeChanged(type, object));
    const ofMachines = createInformer<Machine>(admin, machines, options);
    ofMachines.onChange(({ type, object }) => this.#machineChanged(type, object));
    const ofDeployments = createInformer<MachineDeployment>(admin, machineDeployments, options);
    ofDeployments.onChange(({ type, object }) => type !== 'deleted' && this.#deploymentChanged(object));
    const ofPools = createInformer<MachineConfigPool>(admin, machineConfigPools, options);
    ofPools.onChange(({ type, object }) => this.#poolChanged(type, object));
    for (const one of [ofNodes, ofMachines, ofDeployments, ofPools]) {
      void one.run(signal).catch((error: unknown) => reporter.violate(String(error)));
    }
  }

  get #now(): number {
    return this.#world.clock.now().getTime();
  }

  #poolChanged(type: string, pool: MachineConfigPool): void {
    if (referencesOf(pool).length === 0) return;
    if (type !== 'deleted') this.#pools.add(pool.metadata.uid);
    else this.#pools.delete(pool.metadata.uid);
    if (this.#pools.size === 0) this.#isHandedOver = false;
  }

  #deploymentChanged({ spec }: MachineDeployment): void {
    const { [TemplateConfig]: config, [TemplateSince]: since } = spec.template.metadata?.annotations ?? {};
    const template = JSON.stringify([config, since]);
    if (config !== undefined && template !== this.#template && this.#pools.size > 0) this.#isHandedOver = true;
    this.#template = template;
    const unavailable = Number(spec.strategy?.rollingUpdate?.maxUnavailable ?? 0);
    this.#sizes.push({ at: this.#now, least: (spec.replicas ?? 0) - unavailable });
  }

  #nodeChanged(type: string, node: Node): void {
    const { uid, name, annotations = {} } = node.metadata;
    if (type === 'deleted') this.#configured.delete(uid);
    else if (annotations[State] === 'Done' && annotations[CurrentConfig] === annotations[DesiredConfig])
      this.#configured.set(uid, name);
  }

  #machineChanged(type: string, machine: Machine): void {
    const { uid } = machine.metadata;
    const before = this.#machines.get(uid);
    if (type === 'deleted') {
      this.#machines.delete(uid);
      return;
    }
    const isLost = before !== undefined && isThere(before.machine) && !isThere(machine);
    if (isLost && machine.metadata.deletionTimestamp !== undefined) this.#verify(before.machine);
    this.#machines.set(uid, { machine, lostAt: isLost ? this.#now : (before?.lostAt ?? Number.NEGATIVE_INFINITY) });
  }

  /** Returns true if a machine counts as available. */
  #serves({ metadata }: Machine): boolean {
    const isMade = metadata.annotations?.[TemplateConfig] !== undefined;
    return !isMade || [...this.#configured.values()].includes(metadata.labels?.[Labels.Node] ?? '');
  }

  #verify(given: Machine): void {
    const { reporter } = this.#world;
    if (!this.#isHandedOver || reporter.isDeletedByHand(given.metadata.uid) || !this.#serves(given)) return;
    if (controllerOf(given as KubeObject) === undefined) return;
    const since = this.#now - this.#lagMs();
    const others = [...this.#machines.values()].filter(
      ({ machine, lostAt }) =>
        machine.metadata.uid !== given.metadata.uid &&
        this.#serves(machine) &&
        // If a machine was lost a moment ago, it may still count as ready.
        (isThere(machine) || (lostAt >= since && !reporter.isDeletedByHand(machine.metadata.uid))),
    );
    const recent = this.#sizes.filter(({ at }, index) => at >= since || index === this.#sizes.length - 1);
    const last = this.#sizes.findLast(({ at }) => at < since);
    const least = Math.min(...[...recent, ...(last ? [last] : [])].map((one) => one.least));
    if (others.length >= least) return;
    const names = others.map(({ machine }) => machine.metadata.name).join(', ') || 'none';
    reporter.violate(
      `mcm replaces machine ${given.metadata.name} although only ${names} are ready and the deployment needs ${least}`,
    );
  }
}
