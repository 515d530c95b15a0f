import { Annotations, formatDurationMs, type Machine, type MachineClass, type MachineDeployment } from '@mcm/api';
import {
  type DrainExplanation,
  overlapping,
  PlanRefused,
  reportedBudgetHold,
  type SimulatedDurations,
  type Simulation,
  type SimulationInput,
  simulateRollout,
  stopsOnFailedUpdate,
} from '@mcm/core';
import { controllerOf } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { awaitedBy, wants } from '../explain/deployment/deployment.ts';
import { waitLines } from '../explain/deployment/deployment-lines.ts';
import { isPastDrain, machineWait } from '../explain/machine/machine-wait.ts';
import { managerHold, waitUnder } from '../explain/reasons/stopped-controllers.ts';
import { costsOf } from './cost.ts';
import { durationLines, durationsOf, type GivenDurations } from './durations.ts';
import { hooksOfPlan, type PlannedHook, withHooks } from './hooks.ts';
import type { PlanSource } from './source.ts';

interface PlannedStep {
  readonly after: string;
  readonly action: Simulation['steps'][number]['action'];
  readonly name: string;
  readonly set?: string | undefined;
  readonly zone?: string | undefined;
  readonly because: string;
}

/** The plan of a deployment. */
export interface DeploymentPlan {
  readonly name: string;
  readonly namespace: string;
  readonly wants: string;
  readonly steps: readonly PlannedStep[];
  readonly lasts: string;
  /** The duration with the longest waits for hooks, or `unlimited`. Without hooks, or if the plan is incomplete, `longest` is undefined. */
  readonly longest?: string | undefined;
  /** Whether the deployment has reached its spec at the end of the plan. */
  readonly complete: boolean;
  readonly machines: { readonly made: number; readonly deleted: number; readonly updated: number };
  /**
   * The number of warm machines that a set uses, that mcm creates, and that mcm deletes. Without changes, `warm` is
   * undefined.
   */
  readonly warm?: { readonly used: number; readonly made: number; readonly deleted: number } | undefined;
  readonly leastAvailable: number;
  readonly most: number;
  /** The estimated costs of the plan. If no MachineClass has a price, `costs` is undefined. */
  readonly costs?: string | undefined;
  /** How the deployment looks at the end of the plan, or the event for which it waits. */
  readonly ends: string;
  readonly blockers: readonly string[];
  readonly hooks: readonly PlannedHook[];
  /** Sentences about the waits for hooks. */
  readonly waits: readonly string[];
  readonly assumes: readonly string[];
}

/** Returns a preview of each machine's drain. */
export type PreviewDrains = (machines: readonly Machine[]) => Promise<ReadonlyMap<string, DrainExplanation> | null>;

const MOST_DRAINS = 20;

/**
 * Computes the plan of a deployment in two passes. The second pass runs only if a drain takes longer or shorter than
 * the first pass assumed.
 */
export async function planDeployment(
  source: PlanSource,
  given: GivenDurations,
  preview: PreviewDrains,
  now: Date,
): Promise<DeploymentPlan> {
  const lasting = (drains: ReadonlyMap<string, DrainExplanation>) =>
    durationsOf({ machines: source.fleet, nodes: source.nodes ?? [] }, given, drains, now);
  const assumed = lasting(new Map());
  const before = simulated(source, assumed, now);
  const disrupted = [...goingOf(source), ...before.disrupted];
  const looked = disrupted.slice(0, MOST_DRAINS);
  const seen = looked.length === 0 ? undefined : await preview(looked);
  const drains = seen ?? new Map<string, DrainExplanation>();
  const known = lasting(drains);
  const asAssumed = looked.every((machine) => known.gone(machine) === assumed.gone(machine));
  const simulation = asAssumed ? before : simulated(source, known, now);
  const unseen = disrupted.length - (seen === null ? 0 : looked.length);
  const durations = asAssumed ? assumed : known;
  const { hooks, lines } = hooksOfPlan(source, simulation, deletingOf(source), durations.join, now);
  // An incomplete plan has no duration, so mcm cannot add the waits for hooks to it.
  const longest =
    hooks.length > 0 && simulation.complete
      ? longestOf(simulated(source, withHooks(durations, source, now), now))
      : undefined;
  const estimates = { unseen, given, now, durations };
  return { ...described(source, simulation, drains, estimates), hooks, waits: lines, longest };
}

/** Returns the duration of a plan in which every hook runs until its timeout. */
const longestOf = ({ complete, lastsMs }: Simulation): string => (complete ? estimate(lastsMs) : 'unlimited');

/** Returns the machines of a deployment that are in deletion. */
function deletingOf({ sets, fleet }: PlanSource): Machine[] {
  const uids = new Set(sets.map(({ metadata }) => metadata.uid));
  return fleet.filter(
    (machine) => machine.metadata.deletionTimestamp !== undefined && uids.has(controllerOf(machine)?.uid ?? ''),
  );
}

/** Returns the machines of a deployment that are in deletion and whose nodes may still have pods. */
const goingOf = (source: PlanSource): Machine[] => deletingOf(source).filter((machine) => !isPastDrain(machine));

function simulated(source: PlanSource, durations: SimulatedDurations, now: Date): Simulation {
  const { deployment, sets, fleet, classes, others, nodes, manager } = source;
  const overlaps = new Set(overlapping(deployment, others));
  const input: SimulationInput = {
    deployment,
    sets,
    fleet,
    classes,
    nodes,
    durations,
    now,
    overlaps: others.filter(({ metadata }) => overlaps.has(metadata.name)),
    safeguards: manager.safeguards,
  };
  try {
    return simulateRollout(input);
  } catch (error) {
    if (!(error instanceof PlanRefused)) throw error;
    throw new UserError(`cannot plan the rollout of machinedeployment ${deployment.metadata.name}: ${error.message}`);
  }
}

/** Formats an estimated duration in seconds, because it is not more precise. */
const estimate = (ms: number): string => formatDurationMs(Math.round(ms / 1_000) * 1_000);

/** Returns the time until the VM of a new warm machine is stopped. */
function warmMsOf({ deployment }: PlanSource, { join, stop }: SimulatedDurations): number {
  const machine = { metadata: deployment.metadata, spec: deployment.spec.template.spec } as Machine;
  return join(machine) + (stop?.(machine) ?? 0);
}

interface Estimates {
  readonly unseen: number;
  readonly given: GivenDurations;
  readonly now: Date;
  readonly durations: SimulatedDurations;
}

function described(
  source: PlanSource,
  simulation: Simulation,
  drains: ReadonlyMap<string, DrainExplanation>,
  { unseen, given, now, durations }: Estimates,
): Omit<DeploymentPlan, 'hooks' | 'waits' | 'longest'> {
  const { deployment, ofMachines, controllers = [] } = source;
  const count = (wanted: PlannedStep['action']): number =>
    simulation.steps.filter(({ action }) => action === wanted).length;
  const machines = { made: count('make'), deleted: count('delete'), updated: count('hand over') };
  const warm = { used: count('use warm'), made: count('make warm'), deleted: count('delete warm') };
  const { end, because } = simulation;
  const { classProblem } = source;
  const costs = costsOf({
    ...source,
    steps: simulation.steps,
    gone: durations.gone,
    warmMs: warmMsOf(source, durations),
  });
  const noVm =
    classProblem === undefined || count('make') === 0
      ? undefined
      : `MachineClass ${deployment.spec.template.spec.class.name}: mcm cannot create VMs: ${classProblem}`;
  const complete = simulation.complete && noVm === undefined;
  const stuck = [...end.machines.values()].flatMap((ofSet) =>
    ofSet.flatMap((machine) => {
      const holds = managerHold(controllers, deployment.metadata.name);
      const wait = machineWait(machine, undefined, ofMachines.defaults, holds);
      return wait === undefined ? [] : waitUnder(wait, controllers);
    }),
  );
  return {
    name: deployment.metadata.name,
    namespace: deployment.metadata.namespace ?? 'default',
    wants: wants(deployment),
    steps: simulation.steps.map(({ afterMs, ...step }) => ({ after: estimate(afterMs), ...step })),
    lasts: estimate(simulation.lastsMs),
    complete,
    machines,
    warm: warm.used + warm.made + warm.deleted > 0 ? warm : undefined,
    leastAvailable: simulation.leastAvailable,
    most: simulation.most,
    costs: costs.text,
    ends: complete
      ? 'the deployment matches its spec'
      : `the deployment does not match its spec: ${endOf(deployment, noVm ?? awaitedBy(end, because.replace(/^waiting: /, '')))}`,
    blockers: [
      ...(noVm === undefined ? [] : [noVm]),
      ...costs.shortages,
      ...budgetBlocker(deployment),
      ...simulation.problems,
      ...waitLines(stuck, now),
      ...drainBlockers(drains),
    ],
    assumes: [
      ...durationLines(
        { machines: source.fleet, nodes: source.nodes ?? [] },
        given,
        deployment.spec.template.spec.class.name ?? '',
        { ...machines, used: warm.used, warm: warm.made },
      ),
      ...costs.remarks,
      ...assumptions(source, unseen),
      ...failedUpdates(deployment, machines.updated),
      ...canaryPods(deployment, machines.made),
    ],
  };
}

const endOf = ({ metadata: { name }, spec }: MachineDeployment, waits: string): string =>
  spec.paused
    ? `the rollout is paused; to continue the rollout: mcm rollout resume ${name}`
    : waits.replace(/^until /, 'it waits until ');

/** Returns a sentence about the rollout budget of the fleet, if the rollout waits for it. */
function budgetBlocker(deployment: MachineDeployment): string[] {
  const hold = reportedBudgetHold(deployment);
  return hold === undefined ? [] : [hold.because.replace(/^waiting: /, 'the rollout waits: ')];
}

const drainBlockers = (drains: ReadonlyMap<string, DrainExplanation>): string[] =>
  [...drains].flatMap(([machine, { blockers, policy, deletesFrom }]) =>
    blockers.map(({ text, hint }) => {
      const end =
        policy === 'Force' && deletesFrom
          ? 'when the drain timeout expires, mcm deletes the pods without a grace period'
          : `with policy ${policy}, the drain waits until a user removes the blocker`;
      return `machine ${machine}: ${text}${hint ? `; ${hint}` : ''}; ${end}`;
    }),
  );

function assumptions(source: PlanSource, unseen: number): string[] {
  const { nodes, manager, ofMachines } = source;
  const { metadata, spec } = source.deployment;
  const { annotations = {} } = metadata;
  const named = [Annotations.ScaleIn, Annotations.TriggerDeletion].filter((key) => annotations[key] !== undefined);
  return [
    'the simulation assumes that new machines join and that users do not change the objects',
    ...[manager.remark, ofMachines.remark].filter((remark) => remark !== undefined),
    ...(source.isClassChanged
      ? [
          `only new machines use the changed MachineClass ${spec.template.spec.class.name}; to replace the other machines after the change: mcm rollout restart ${metadata.name}`,
        ]
      : []),
    ...(nodes ? [] : ['no permission to read nodes, so the simulation does not know drains and in-place updates']),
    ...(unseen > 0
      ? [`${unseen} drains have no preview; the simulation assumes that nothing blocks these drains`]
      : []),
    ...((spec.minReadySeconds ?? 0) > 0
      ? [`the duration does not include spec.minReadySeconds (${spec.minReadySeconds}), because mcm ignores this field`]
      : []),
    ...named.map(
      (key) =>
        `the simulation ignores metadata.annotations[${key}]: mcm may delete the machines in this annotation before other machines`,
    ),
  ];
}

/** Returns a sentence about failed in-place updates, because the simulation assumes that all of them succeed. */
function failedUpdates(deployment: MachineDeployment, updated: number): string[] {
  if (updated === 0) return [];
  const then = stopsOnFailedUpdate(deployment)
    ? `mcm keeps the machine and selects no other node, because ${Annotations.RolloutOnCannotUpdateInPlace} is Stop`
    : 'mcm replaces the machine after its health timeout, unless the timeout is disabled';
  return [`the simulation assumes that in-place updates succeed; if an update fails, ${then}`];
}

/** Returns a sentence about canary pods that are not Ready, because the simulation assumes that all pods are Ready. */
function canaryPods({ metadata: { annotations = {} } }: MachineDeployment, made: number): string[] {
  if (annotations[Annotations.RolloutCanaryPodsReady] !== 'true' || made === 0) return [];
  const then = annotations[Annotations.RolloutUndoOnFailure] === 'true' ? 'undoes' : 'pauses';
  return [`the simulation assumes that pods of canaries are Ready; if a pod is not Ready, mcm ${then} the rollout`];
}

/** Returns the classes in the file, and the stored classes that the file does not contain. */
export const withClasses = (there: readonly MachineClass[], more: readonly MachineClass[]): readonly MachineClass[] => [
  ...more,
  ...there.filter(({ metadata }) => more.every((one) => one.metadata.name !== metadata.name)),
];
