import { Labels, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { BY_CONTROLLER, type ControllerContext, deploymentOf } from '../../control/caches.ts';
import { planRepairs, type RepairPlan } from '../../disruption/repairs.ts';
import { countsTerminating, isReplicaOf } from '../../disruption/safeguards.ts';
import { limitsOf } from '../../objects/limits.ts';
import { machineNumberOf } from '../../objects/machine-names.ts';
import { isTerminating } from '../../objects/machines.ts';
import type { NodeAnnotations } from '../../objects/preservation.ts';
import { postponementOf } from '../../rollout/postponement.ts';
import { splitSets } from '../../rollout/revisions.ts';
import { isLastRolloutComplete } from '../../rollout/rollout-completion.ts';
import { keptInPause } from '../../rollout/rollout-gate.ts';

export interface SetMemory {
  readonly lost: (set: MachineSet, alive: readonly Machine[]) => number;
}

export class RepairGroups {
  readonly #context: ControllerContext;
  readonly #memory: SetMemory;

  constructor(context: ControllerContext, memory: SetMemory) {
    this.#context = context;
    this.#memory = memory;
  }

  readonly nodeAnnotations: NodeAnnotations = (name) => {
    const informer = this.#context.nodes?.informer;
    if (informer?.refused !== undefined) return 'unseen';
    const node = informer?.store.get(name);
    return node && (node.metadata.annotations ?? {});
  };

  isPostponed({ metadata }: Machine, now: Date): boolean {
    const { nodes, safeguards } = this.#context;
    if (!safeguards.settings.rolloutAnnotations) return false;
    return postponementOf(nodes?.informer.store.get(metadata.labels?.[Labels.Node] ?? ''), now) !== undefined;
  }

  #machinesOf(set: MachineSet): readonly Machine[] {
    return this.#context.machines.store.byIndex(BY_CONTROLLER, set.metadata.uid);
  }

  #siblings(deployment: MachineDeployment): readonly MachineSet[] {
    return this.#context.sets.store.byIndex(BY_CONTROLLER, deployment.metadata.uid);
  }

  #isSelected = ({ metadata }: Machine): boolean => {
    const node = this.#context.nodes?.informer.store.get(metadata.labels?.[Labels.Node] ?? '');
    if (node === undefined) return false;
    return (
      node.metadata.labels?.[Labels.SelectedForUpdate] !== undefined || this.#context.disruptions.isSelecting(node)
    );
  };

  repairsOf(set: MachineSet, now: Date): RepairPlan {
    const { safeguards, disruptions } = this.#context;
    const deployment = deploymentOf(set, this.#context);
    const siblings = deployment ? this.#siblings(deployment) : [set];
    const { current, old } = deployment ? splitSets(deployment, siblings) : { current: set, old: [] };
    const isReplica = deployment && isReplicaOf(deployment, safeguards.settings);
    const account = (one: MachineSet) => {
      const all = this.#machinesOf(one);
      const machines = isReplica ? all.filter(isReplica) : all;
      const alive = machines.filter((machine) => !isTerminating(machine) && !disruptions.isLeaving(machine));
      const isOurs = ({ metadata }: Machine) => machineNumberOf(one, metadata.name) !== undefined;
      return { replicas: one.spec.replicas ?? 0, machines, lost: this.#memory.lost(one, alive), isOurs };
    };
    return planRepairs({
      replicas: (deployment ?? set).spec.replicas ?? 0,
      unavailable: deployment ? limitsOf(deployment).unavailable : 0,
      finished: deployment === undefined || isLastRolloutComplete(deployment),
      current: current && account(current),
      old: old.map(account),
      leaving: disruptions.isLeaving,
      ...(deployment && safeguards.settings.rolloutAnnotations
        ? keptInPause(deployment, { current, old }, (one) => account(one).machines, now)
        : {}),
      unsettled: siblings.some((one) => disruptions.isShrinking(one)),
      selected: deployment?.spec.strategy?.type === 'InPlaceUpdate' ? this.#isSelected : undefined,
      limit: safeguards.settings.maxUnhealthyReplacements,
      breakerOf: (machine) => safeguards.breakerOf(machine, now),
      nodeAnnotations: this.nodeAnnotations,
      now,
    });
  }

  /**
   * Returns the number of machines that the set may create while machines are terminating (incident 24), or undefined
   * without a limit.
   */
  roomOf(set: MachineSet): number | undefined {
    const deployment = deploymentOf(set, this.#context);
    if (!deployment || !countsTerminating(deployment, this.#context.safeguards.settings)) {
      return undefined;
    }
    return roomOfSet(deployment, set, {
      siblings: this.#siblings(deployment),
      machinesOf: (one) => this.#machinesOf(one),
      isGoing: (machine) => isTerminating(machine) || this.#context.disruptions.isLeaving(machine),
    });
  }
}

/** Returns the number of machines that the set may create if terminating machines use up the surge. */
export function roomOfSet(
  deployment: MachineDeployment,
  set: MachineSet,
  around: {
    readonly siblings: readonly MachineSet[];
    readonly machinesOf: (set: MachineSet) => readonly Machine[];
    readonly isGoing: (machine: Machine) => boolean;
  },
): number {
  const taken = around.siblings.map((one) => {
    const machines = around.machinesOf(one);
    const alive = machines.filter((machine) => !around.isGoing(machine)).length;
    const reserved = one.metadata.uid === set.metadata.uid ? alive : Math.max(alive, one.spec.replicas ?? 0);
    return reserved + machines.length - alive;
  });
  const most = (deployment.spec.replicas ?? 0) + limitsOf(deployment).surge;
  return Math.max(most - taken.reduce((total, count) => total + count, 0), 0);
}
