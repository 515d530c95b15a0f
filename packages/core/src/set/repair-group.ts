import type { Machine, MachineDeployment, MachineSet } from '@mcm/api';
import { limitsOf } from '../deployment/limits.ts';
import { splitSets } from '../deployment/revisions.ts';
import { deploymentOf } from '../deployment/wakeups.ts';
import { planRepairs, type RepairPlan } from '../disruption/repairs.ts';
import { countsTerminating } from '../disruption/safeguards.ts';
import { BY_CONTROLLER, type ControllerContext } from './caches.ts';
import { isTerminating } from './machines.ts';
import { isSlotName } from './slots.ts';

/** What the controller of sets knows and the caches do not show. */
export interface SetMemory {
  /** Whether the deletion of the set's machine was sent and the cache does not show it yet. */
  readonly leaving: (set: MachineSet, machine: Machine) => boolean;
  /** Places of the set that lost their machine and have no other one yet. */
  readonly lost: (set: MachineSet, alive: readonly Machine[]) => number;
}

/** Reads from the caches what the sets of one deployment have to share. */
export class RepairGroups {
  readonly #context: ControllerContext;
  readonly #memory: SetMemory;

  constructor(context: ControllerContext, memory: SetMemory) {
    this.#context = context;
    this.#memory = memory;
  }

  readonly nodeAnnotations = (name: string): Readonly<Record<string, string>> | undefined => {
    const node = this.#context.nodes?.informer.store.get(name);
    return node && (node.metadata.annotations ?? {});
  };

  #machinesOf(set: MachineSet): readonly Machine[] {
    return this.#context.machines.store.byIndex(BY_CONTROLLER, set.metadata.uid);
  }

  #siblings(deployment: MachineDeployment): readonly MachineSet[] {
    return this.#context.sets.store.byIndex(BY_CONTROLLER, deployment.metadata.uid);
  }

  /** Which failed machines of the set's deployment, or of the set itself, are replaced now. */
  repairsOf(set: MachineSet, now: Date): RepairPlan {
    const { safeguards } = this.#context;
    const deployment = deploymentOf(set, this.#context);
    const siblings = deployment ? this.#siblings(deployment) : [set];
    const { current, old } = deployment ? splitSets(deployment, siblings) : { current: set, old: [] };
    const owners = new Map<Machine, MachineSet>();
    const account = (one: MachineSet) => {
      const machines = this.#machinesOf(one);
      for (const machine of machines) owners.set(machine, one);
      const alive = machines.filter((machine) => !isTerminating(machine) && !this.#memory.leaving(one, machine));
      const isOurs = ({ metadata }: Machine) => isSlotName(one.metadata, metadata.name);
      return { replicas: one.spec.replicas ?? 0, machines, lost: this.#memory.lost(one, alive), isOurs };
    };
    return planRepairs({
      replicas: (deployment ?? set).spec.replicas ?? 0,
      unavailable: deployment ? limitsOf(deployment).unavailable : 0,
      current: current && account(current),
      old: old.map(account),
      leaving: (machine) => this.#memory.leaving(owners.get(machine) ?? set, machine),
      limit: safeguards.settings.maxUnhealthyReplacements,
      breakerOf: (machine) => safeguards.breakerOf(machine, now),
      nodeAnnotations: this.nodeAnnotations,
      now,
    });
  }

  /**
   * How many machines the set may make while others of its deployment still terminate; undefined: that is no limit.
   * What the other sets have yet to make is theirs. Source: incident 24, quota bursts.
   */
  roomOf(set: MachineSet): number | undefined {
    const deployment = deploymentOf(set, this.#context);
    if (!deployment || !countsTerminating(deployment, this.#context.safeguards.settings.countTerminating)) {
      return undefined;
    }
    const taken = this.#siblings(deployment).map((one) => {
      const machines = this.#machinesOf(one);
      const alive = machines.filter((machine) => !isTerminating(machine) && !this.#memory.leaving(one, machine)).length;
      const reserved = one.metadata.uid === set.metadata.uid ? alive : Math.max(alive, one.spec.replicas ?? 0);
      return reserved + machines.length - alive;
    });
    const most = (deployment.spec.replicas ?? 0) + limitsOf(deployment).surge;
    return Math.max(most - taken.reduce((total, count) => total + count, 0), 0);
  }
}
