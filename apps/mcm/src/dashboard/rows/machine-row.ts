import { Labels, type Machine, type MachineClass } from '@mcm/api';
import { type MachineDefaults, offeringOf } from '@mcm/core';
import type { Level, MachineRow, Stage } from '@mcm/dashboard';
import { controllerOf, type Node } from '@mcm/kube';
import { type ControllerHealth, doesAct } from '../../controllers/health.ts';
import { isPastDrain, machineWait, sinceOf } from '../../explain/machine/machine-wait.ts';
import { waitUnder } from '../../explain/reasons/stopped-controllers.ts';
import { phaseName } from '../../screen/fleet.ts';
import { brieflyVisible, millisOf } from './text.ts';

export interface AroundMachine {
  readonly deployment: string;
  readonly machineClass: MachineClass | undefined;
  /** Whether all classes were read. If `classesAreKnown` is true, a class that is not in the list does not exist. */
  readonly classesAreKnown: boolean;
  readonly node: Node | undefined;
  /** The reasons why the drain makes no progress. If the drain is not watched, `blockers` is empty. */
  readonly blockers: readonly string[];
  readonly defaults: MachineDefaults;
  readonly controllers: readonly ControllerHealth[];
}

/** The row of a machine. At the time `risesAt`, the level can become more urgent although no event occurs. */
export interface AssessedRow {
  readonly row: MachineRow;
  readonly base: Level;
  readonly risesAt: number | undefined;
}

export const BLOCKED_LIMIT_MS = 600_000;

const ZONE = 'topology.kubernetes.io/zone';
const LEGACY_ZONE = 'failure-domain.beta.kubernetes.io/zone';

/**
 * Returns the zone of a machine, from the first of: its Node, its capacity alternative, its node template, its class.
 */
function zoneOf(machine: Machine, machineClass: MachineClass | undefined, node: Node | undefined): string {
  const own: Readonly<Record<string, string>> = node?.metadata.labels ?? {};
  const template = machine.spec.nodeTemplate?.metadata?.labels ?? {};
  const first = template[ZONE] ?? template[LEGACY_ZONE] ?? classZone(machineClass);
  return own[ZONE] ?? own[LEGACY_ZONE] ?? offeringOf(machine)?.zone ?? first;
}

export function classZone(machineClass: MachineClass | undefined): string {
  const inSpec = machineClass?.providerSpec as { readonly zone?: unknown } | null | undefined;
  const zone = machineClass?.nodeTemplate?.zone ?? inSpec?.zone;
  return typeof zone === 'string' ? brieflyVisible(zone) : '';
}

function stageOf(machine: Machine, phase: string): Stage {
  const { metadata, spec, status } = machine;
  if (metadata.deletionTimestamp !== undefined) {
    return isPastDrain(machine) || !metadata.labels?.[Labels.Node] ? 'delete' : 'drain';
  }
  if (phase === 'Creating' || phase === 'CrashLoopBackOff') return spec.providerID ? 'join' : 'vm';
  if (phase !== 'Pending') return 'run';
  // A machine with a VM waits for its Node, unless its last operation failed.
  return spec.providerID && status?.lastOperation?.state !== 'Failed' ? 'join' : 'vm';
}

const FAILING: readonly string[] = ['Unknown', 'CrashLoopBackOff'];

function baseOf(machine: Machine, phase: string, stage: Stage, around: AroundMachine): Level {
  if (phase === 'Failed' || phase === 'InPlaceUpdateFailed') return 'failed';
  const refused = machine.status?.lastOperation?.state === 'Failed' && phase !== 'Running';
  const lacksClass = around.classesAreKnown && around.machineClass === undefined;
  const blocked = refused || FAILING.includes(phase) || around.blockers.length > 0 || (lacksClass && stage !== 'run');
  if (blocked) return 'blocked';
  // In all stages except `run`, the machine waits for the machine controller.
  const waits = stage !== 'run' || phase === 'InPlaceUpdating';
  if (waits && !doesAct(around.controllers, 'machine-controller')) return 'blocked';
  if (stage === 'drain' || stage === 'delete') return 'leaving';
  return stage === 'run' && phase !== 'InPlaceUpdating' ? 'ready' : 'starting';
}

/**
 * Returns the level of a machine at `now`, and the next time at which a deadline or a long wait makes the level more
 * urgent.
 */
function raised(
  base: Level,
  times: { readonly since: number; readonly created: number; readonly deadline: number | undefined },
  now: number,
): { readonly level: Level; readonly risesAt: number | undefined } {
  const { since, created, deadline } = times;
  if (base === 'blocked') {
    const failsAt = Math.min(deadline ?? Number.POSITIVE_INFINITY, since + BLOCKED_LIMIT_MS);
    return now >= failsAt ? { level: 'failed', risesAt: undefined } : { level: 'blocked', risesAt: failsAt };
  }
  if (base === 'starting' && deadline !== undefined) {
    const half = created + (deadline - created) / 2;
    if (now >= deadline) return { level: 'failed', risesAt: undefined };
    return now >= half ? { level: 'blocked', risesAt: deadline } : { level: 'starting', risesAt: half };
  }
  if (base === 'leaving' && deadline !== undefined) {
    return now >= deadline ? { level: 'blocked', risesAt: undefined } : { level: 'leaving', risesAt: deadline };
  }
  return { level: base, risesAt: undefined };
}

/** @param before the previous result for the machine, which contains the time at which the current level began */
export function machineRow(
  machine: Machine,
  around: AroundMachine,
  now: number,
  before: AssessedRow | undefined,
): AssessedRow {
  const { metadata, spec, status } = machine;
  const deleted = metadata.deletionTimestamp !== undefined;
  const phase = deleted ? 'Terminating' : phaseName(brieflyVisible(status?.currentStatus?.phase ?? ''));
  const stage = stageOf(machine, phase);
  const base = baseOf(machine, phase, stage, around);
  const created = millisOf(metadata.creationTimestamp) ?? now;
  const acting = machineWait(machine, around.machineClass, around.defaults);
  const wait = acting && waitUnder(acting, around.controllers);
  const began = before === undefined ? (millisOf(sinceOf(machine)) ?? created) : now;
  // A retry changes the times in the status, so the row keeps the time at which the level began.
  const since = before?.base === base ? before.row.since : began;
  const deadline = wait?.deadline?.at.getTime();
  const { level, risesAt } = raised(base, { since, created, deadline }, now);
  const row: MachineRow = {
    key: `${metadata.namespace ?? ''}/${metadata.name}`,
    uid: metadata.uid,
    ns: metadata.namespace ?? '',
    name: metadata.name,
    deployment: around.deployment,
    set: controllerOf(machine)?.name ?? '',
    zone: zoneOf(machine, around.machineClass, around.node),
    cls: brieflyVisible(spec.class?.name ?? ''),
    node: brieflyVisible(metadata.labels?.[Labels.Node] ?? ''),
    phase,
    level,
    stage,
    why: whyOf(wait, stage, around, spec.class?.name ?? ''),
    since,
    created,
  };
  return { row, base, risesAt };
}

function whyOf(wait: ReturnType<typeof machineWait>, stage: Stage, around: AroundMachine, className: string): string {
  if (wait === undefined) return '';
  if (around.blockers.length > 0)
    return brieflyVisible(`the drain of the machine is blocked: ${around.blockers.join('; ')}`);
  if (around.classesAreKnown && around.machineClass === undefined && stage !== 'run') {
    return brieflyVisible(`MachineClass ${className} does not exist`);
  }
  const { doing, errorCode } = wait;
  return brieflyVisible(errorCode === undefined || doing.includes(errorCode) ? doing : `${doing} [${errorCode}]`);
}
