import { counted, formatDurationMs, Labels, type Machine, type MachineClass, phaseOf } from '@mcm/api';
import {
  type AwaitedHook,
  awaitedHooks,
  type HookStage,
  hooksOf,
  type MachineDefaults,
  powerOf,
  type SimulatedDurations,
  type Simulation,
  settingsOf,
} from '@mcm/core';
import type { PlanSource } from './source.ts';

/** A hook for which machines of the plan wait. */
export interface PlannedHook {
  readonly stage: HookStage;
  readonly name: string;
  readonly owner: string;
  /** The number of machines that wait for the hook. */
  readonly machines: number;
  /** The longest wait of one machine, or undefined for a hook without a limit. */
  readonly atMost?: string | undefined;
  readonly afterTimeout: 'Continue' | 'Block';
}

type Part = 'new' | 'deleted';

const STAGES: Readonly<Record<Part, readonly HookStage[]>> = {
  new: ['before-create', 'after-ready'],
  deleted: ['before-drain', 'before-delete'],
};

/** The waits of one machine for its hooks. */
interface MachineHooks {
  readonly part: Part;
  readonly awaited: readonly AwaitedHook[];
  readonly mostMs: number;
}

type Classes = readonly MachineClass[];

const classOf = ({ spec }: Machine, classes: Classes): MachineClass | undefined =>
  classes.find(({ metadata }) => metadata.name === spec.class.name);

function stagesOf(machine: Machine, part: Part): readonly HookStage[] {
  const [first, last] = STAGES[part];
  // If the VM of a new machine already exists, its first stage has ended. A deleted machine whose VM does not run needs
  // no drain.
  const isPast = part === 'new' ? machine.spec.providerID : powerOf(machine);
  return [...(first && !isPast ? [first] : []), ...(last ? [last] : [])];
}

function hooksOfMachine(machine: Machine, part: Part, classes: Classes, now: Date): MachineHooks {
  const machineClass = classOf(machine, classes);
  const stages = stagesOf(machine, part).map((stage) => awaitedHooks(machine, machineClass, stage, now));
  const mostMs = stages.reduce((sum, hooks) => sum + Math.max(0, ...hooks.map((each) => each.mostMs)), 0);
  return { part, awaited: stages.flat(), mostMs };
}

/** Returns a new machine of the plan with the fields that the conditions of its hooks can read. */
function newMachine(name: string, set: string | undefined, source: PlanSource, { end }: Simulation): Machine {
  const { deployment, sets } = source;
  const of = [...end.sets, ...sets].find(({ metadata }) => metadata.name === set)?.spec.template;
  const { metadata: template, spec } = of ?? deployment.spec.template;
  const { namespace } = deployment.metadata;
  const labels = { ...template?.labels, [Labels.Node]: name };
  const identity = { uid: '', resourceVersion: '', creationTimestamp: deployment.metadata.creationTimestamp };
  const metadata = { name, namespace, labels, annotations: { ...template?.annotations }, ...identity };
  return { apiVersion: deployment.apiVersion, kind: 'Machine', metadata, spec } as Machine;
}

const isJoining = (machine: Machine): boolean => ['', 'Pending', 'CrashLoopBackOff'].includes(phaseOf(machine) ?? '');

/** Returns the machines that wait for hooks during the plan. */
function waitingMachines(
  source: PlanSource,
  simulation: Simulation,
  going: readonly Machine[],
): readonly (readonly [Machine, Part])[] {
  const { fleet, sets, deployment } = source;
  const uids = new Set([deployment, ...sets].map(({ metadata }) => metadata.uid));
  const byName = new Map(fleet.map((machine) => [machine.metadata.name, machine]));
  const joining = fleet.filter(
    ({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uids.has(uid)) && !metadata.deletionTimestamp,
  );
  const planned = simulation.steps.flatMap(({ action, name, set }): [Machine, Part][] => {
    const machine = () => byName.get(name) ?? newMachine(name, set, source, simulation);
    if (action === 'make' || action === 'make warm') return [[newMachine(name, set, source, simulation), 'new']];
    if (action === 'use warm') return [[machine(), 'new']];
    return action === 'delete' || action === 'delete warm' ? [[machine(), 'deleted']] : [];
  });
  return [
    ...joining.filter(isJoining).map((machine) => [machine, 'new'] as const),
    ...going.map((machine) => [machine, 'deleted'] as const),
    ...planned,
  ];
}

/** The hooks of a plan. */
export interface PlannedHooks {
  readonly hooks: readonly PlannedHook[];
  /** Sentences about the hooks. */
  readonly lines: readonly string[];
}

/** Returns the hooks for which the machines of a plan wait. */
export function hooksOfPlan(
  source: PlanSource,
  simulation: Simulation,
  going: readonly Machine[],
  join: SimulatedDurations['join'],
  now: Date,
): PlannedHooks {
  const { classes, ofMachines } = source;
  const machines = waitingMachines(source, simulation, going).map(
    ([machine, part]) => [machine, hooksOfMachine(machine, part, classes, now)] as const,
  );
  const all = machines.map(([, waits]) => waits);
  const groups = Map.groupBy(
    all.flatMap(({ awaited }) => awaited),
    ({ hook: { stage, name, owner, afterTimeout } }) => `${stage}/${name} ${owner} ${afterTimeout}`,
  );
  const hooks = [...groups.values()].flatMap(plannedHook);
  const late = machines.filter(
    ([machine, { part, mostMs }]) =>
      part === 'new' && mostMs > 0 && mostMs + join(machine) > creationTimeoutOf(machine, ofMachines.defaults),
  );
  return {
    hooks,
    lines: [
      ...new Set(machines.flatMap(([machine]) => hooksOf(machine, classOf(machine, classes)).problems)),
      ...hooks.map(hookLine),
      ...(['new', 'deleted'] as const).flatMap((part) => partLine(part, all)),
      ...late.slice(0, 1).map(([machine]) => lateLine(creationTimeoutOf(machine, ofMachines.defaults))),
    ],
  };
}

const creationTimeoutOf = (machine: Machine, defaults: MachineDefaults): number =>
  settingsOf(machine, defaults).creationTimeoutMs;

function plannedHook(alike: readonly AwaitedHook[]): PlannedHook[] {
  const [first] = alike;
  if (first === undefined) return [];
  const { stage, name, owner, afterTimeout } = first.hook;
  const mostMs = Math.max(...alike.map((each) => each.mostMs));
  const atMost = Number.isFinite(mostMs) ? rounded(mostMs) : undefined;
  return [{ stage, name, owner, machines: alike.length, atMost, afterTimeout }];
}

const rounded = (ms: number): string => formatDurationMs(Math.round(ms / 1_000) * 1_000);

function hookLine({ stage, name, owner, machines, atMost, afterTimeout }: PlannedHook): string {
  const waits = `${counted(machines, 'machine')} ${machines === 1 ? 'waits' : 'wait'} for ${stage}/${name} of ${owner}`;
  return atMost === undefined
    ? `${waits} without a limit (${afterTimeout})`
    : `${waits}${machines === 1 ? '' : ', each'} for at most ${atMost} (${afterTimeout})`;
}

function partLine(part: Part, all: readonly MachineHooks[]): string[] {
  const mostMs = Math.max(0, ...all.filter((each) => each.part === part).map((each) => each.mostMs));
  if (mostMs === 0) return [];
  return [
    Number.isFinite(mostMs)
      ? `all hooks of a ${part} machine take at most ${rounded(mostMs)}`
      : `the hooks of a ${part} machine have no limit, because the machine waits until the owner ends the hook`,
  ];
}

const lateLine = (timeoutMs: number): string =>
  `the hooks of a new machine can exceed its creation timeout of ${rounded(timeoutMs)}, so the machine can become Failed`;

/** Adds the longest waits for hooks to the durations of machines. */
export function withHooks(
  durations: SimulatedDurations,
  { classes, ofMachines }: Pick<PlanSource, 'classes' | 'ofMachines'>,
  now: Date,
): SimulatedDurations {
  const mostMs = (machine: Machine, part: Part): number => hooksOfMachine(machine, part, classes, now).mostMs;
  return {
    ...durations,
    join: (machine) => {
      const [hooks, join] = [mostMs(machine, 'new'), durations.join(machine)];
      const isLate = hooks > 0 && hooks + join > creationTimeoutOf(machine, ofMachines.defaults);
      return isLate ? Number.POSITIVE_INFINITY : hooks + join;
    },
    start: (machine) => mostMs(machine, 'new') + (durations.start?.(machine) ?? 0),
    gone: (machine) => mostMs(machine, 'deleted') + durations.gone(machine),
  };
}
