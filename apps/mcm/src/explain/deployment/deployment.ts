import {
  Annotations,
  type Block,
  counted,
  formatTime,
  Labels,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineSet,
} from '@mcm/api';
import {
  bufferOf,
  countsTerminating,
  type DeploymentSnapshot,
  expiringMarks,
  type GuardsAt,
  guardsOf,
  isComplete,
  isEmptySelector,
  isUndrained,
  limitsOf,
  notedNames,
  overlapping as overlaps,
  PlanRefused,
  planRollout,
  type RolloutPlan,
  reportedBudgetHold,
  reportedCanaryPods,
  revisionOf,
  SAFEGUARD_DEFAULTS,
  soakOf,
  splitSets,
  validateDeployment,
  zoneOutlook,
} from '@mcm/core';
import { type Node, withoutUndefined } from '@mcm/kube';
import type { DeploymentReading, FullReading } from '../../cluster/deployment-reading.ts';
import { type QuarantinedVm, quarantinedIn } from '../../cluster/quarantine.ts';
import type { ControllerHealth } from '../../controllers/health.ts';
import { type MachineWait, machineWait } from '../machine/machine-wait.ts';
import { problemsOf } from '../reasons/conditions.ts';
import { replacementHolds } from '../reasons/replacement-holds.ts';
import { explanationUnder, managerHold, ROLLOUT_CONTINUES } from '../reasons/stopped-controllers.ts';
import { ASSUMED, type MachineSettings } from '../settings/machine-settings.ts';
import type { ManagerSettings } from '../settings/manager-settings.ts';
import { hintsOf, inPlaceHints, promoteHint } from './deployment-hints.ts';
import { disruptionHints, disruptionLines } from './disruption.ts';
import { zoneLines } from './zones.ts';

export interface DeploymentExplanation {
  readonly name: string;
  readonly wants: string;
  readonly has: string;
  /** The next step of the manager, which its decision function has computed. */
  readonly next: string;
  /** The changes in the next step of the manager. If the manager only waits, `changes` is empty. */
  readonly changes: readonly string[];
  readonly waitsFor: readonly MachineWait[];
  readonly disruption: readonly string[];
  readonly remarks: readonly string[];
  readonly quarantinedVms: readonly QuarantinedVm[];
  readonly blockers: readonly string[];
  /** The reasons in `status.blockedBy`, which the manager writes if the flag `--blocked-by` is set. */
  readonly blockedBy?: readonly Block[] | undefined;
  readonly controllers: readonly ControllerHealth[];
  readonly hints: readonly string[];
  readonly unread?: readonly string[];
}

export interface Watched {
  readonly guards?: GuardsAt | undefined;
  readonly nodeOf?: ((name: string) => Node | undefined) | undefined;
  /** If `controllers` is undefined, all controllers count as working. */
  readonly controllers?: readonly ControllerHealth[];
}

/** Explains a deployment from its objects and the settings of the manager. */
export const explainDeployment = (
  reading: DeploymentReading & Partial<FullReading> & Watched,
  now: Date,
  nodes?: readonly Node[],
  manager?: ManagerSettings,
  ofMachines?: MachineSettings,
): DeploymentExplanation =>
  explanationUnder(explainActing(reading, now, nodes, manager, ofMachines), reading.controllers ?? []);

function explainActing(
  reading: DeploymentReading & Partial<FullReading> & Watched,
  now: Date,
  nodes?: readonly Node[],
  { safeguards, remark }: ManagerSettings = { safeguards: SAFEGUARD_DEFAULTS, remark: undefined },
  ofMachines: MachineSettings = ASSUMED,
): Omit<DeploymentExplanation, 'controllers'> {
  const { deployment, sets, machines, fleet, classes, others = [], controllers = [] } = reading;
  const all = [...machines.values()].flat();
  const nodeOf = reading.nodeOf ?? (nodes && lookupOf(nodes));
  const guards =
    reading.guards ??
    (classes && ((...at: Parameters<GuardsAt>) => guardsOf({ machines: fleet, classes, nodes }, ...at)));
  const assessed = guards && {
    ...guards(safeguards, now),
    ...withoutUndefined({ budgetClosed: reportedBudgetHold(deployment) }),
  };
  const setOf = new Map([...machines].flatMap(([uid, own]) => own.map((one) => [one, uid] as const)));
  const holdsOf = (machine: Machine): readonly string[] => {
    const set = sets.find(({ metadata }) => metadata.uid === setOf.get(machine));
    const node = nodeOf?.(machine.metadata.labels?.[Labels.Node] ?? '');
    const around = {
      deployment,
      fleet,
      set,
      guards: assessed,
      node,
    };
    return [...managerHold(controllers, deployment.metadata.name), ...replacementHolds(machine, around)];
  };
  const base = {
    ...withoutStep({ deployment, sets, machines: all, classes }, remark, ofMachines, holdsOf),
    has: has(reading),
  };
  const stopped = stoppedBy(deployment);
  if (stopped) {
    // A deleted deployment waits for its machines, so the hints about its machines are included.
    const ofMachinesThere = deployment.metadata.deletionTimestamp ? hintsOf(deployment, all, sets.length) : [];
    return { ...base, ...stopped, hints: [...stopped.hints, ...ofMachinesThere] };
  }
  const overlapping = new Set(overlaps(deployment, others));
  const snapshot: DeploymentSnapshot = {
    deployment,
    sets,
    machines,
    creating: () => 0,
    nodeOf,
    guards: assessed,
    overlaps: others.filter(({ metadata }) => overlapping.has(metadata.name)),
    canaryPods: reportedCanaryPods(deployment),
    now,
  };
  try {
    const plan = planRollout(snapshot);
    const changes = changesOf(plan, sets);
    const disruption = [
      ...disruptionLines(plan.repairs, countsTerminating(deployment, safeguards)),
      ...zoneLines(zoneOutlook({ deployment, sets, machines: all, nodeOf })),
    ];
    const hints = [
      ...hintsOf(deployment, all, sets.length),
      ...(nodeOf ? inPlaceHints(deployment, all, nodeOf) : []),
      ...disruptionHints(plan.repairs),
      ...canaryHints(reading, plan),
      ...(soakOf(snapshot, plan) ? [promoteHint(deployment)] : []),
      ...markHints(reading),
      ...plan.problems.conditions.flatMap((reported) => cureOf(deployment, reported)),
    ];
    return { ...base, next: nextOf(reading, plan, changes), changes, disruption, hints };
  } catch (error) {
    if (!(error instanceof PlanRefused)) throw error;
    const hints = [
      'the error is a bug of mcm: report the bug with the YAML of the deployment, its MachineSets and machines',
    ];
    return { ...base, next: `no step, because of an error: ${error.message}`, hints };
  }
}

/** Until the manager has checked the pods of the canaries in this rollout, returns a hint about this check. */
function canaryHints(
  { deployment, sets }: Pick<DeploymentReading, 'deployment' | 'sets'>,
  { unfinished }: RolloutPlan,
): readonly string[] {
  const { annotations = {} } = deployment.metadata;
  if (annotations[Annotations.RolloutCanaryPodsReady] !== 'true' || !unfinished || deployment.spec.paused) return [];
  const current = splitSets(deployment, sets).current?.metadata.name;
  const isProven = [Annotations.RolloutCanaryPodsSeen, Annotations.RolloutLastGood].some(
    (key) => current !== undefined && annotations[key] === current,
  );
  if (isProven) return [];
  const then = annotations[Annotations.RolloutUndoOnFailure] === 'true' ? 'undoes' : 'pauses';
  return [`if a pod of the canaries is not Ready after the soak time, mcm ${then} the rollout`];
}

/** Returns a hint about the machines that an autoscaler has marked for deletion, if the marks expire. */
function markHints({
  deployment,
  sets,
  machines,
}: Pick<DeploymentReading, 'deployment' | 'sets' | 'machines'>): readonly string[] {
  const marks = expiringMarks(deployment, sets, ({ metadata }) => machines.get(metadata.uid) ?? []) ?? [];
  return marks.map(
    ({ machine, expiresAt }) =>
      `mcm removes the deletion mark of machine ${machine.metadata.name} at ${formatTime(expiresAt)}, unless spec.replicas is reduced before`,
  );
}

function lookupOf(nodes: readonly Node[]): (name: string) => Node | undefined {
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  return (name) => byName.get(name);
}

/** Returns the part of the explanation that does not depend on the next step. */
export function withoutStep(
  {
    deployment,
    sets,
    machines,
    classes,
  }: {
    readonly deployment: MachineDeployment;
    readonly sets: readonly MachineSet[];
    readonly machines: readonly Machine[];
    readonly classes: readonly MachineClass[] | undefined;
  },
  remark: string | undefined,
  ofMachines: MachineSettings,
  holdsOf: (machine: Machine) => readonly string[] = () => [],
): Omit<DeploymentExplanation, 'has' | 'next' | 'hints' | 'controllers'> {
  const classNamed = (name = '') => classes?.find(({ metadata }) => metadata.name === name);
  const waitsFor = machines.flatMap(
    (machine) =>
      machineWait(
        machine,
        classNamed(machine.spec.class.name),
        ofMachines.defaults,
        isAtRest(machine) ? [] : holdsOf(machine),
      ) ?? [],
  );
  const templates = [deployment, ...sets].map(({ spec }) => spec.template.spec?.class?.name);
  const own = classes?.filter(({ metadata }) => templates.includes(metadata.name)) ?? [];
  const doubted = waitsFor.some(({ deadline }) => deadline) ? ofMachines.remark : undefined;
  return {
    name: deployment.metadata.name,
    wants: wants(deployment),
    waitsFor,
    disruption: [],
    remarks: [remark, doubted].filter((each) => each !== undefined),
    changes: [],
    quarantinedVms: quarantinedIn(own),
    blockers: blockersOf(deployment, sets),
    blockedBy: deployment.status?.blockedBy,
  };
}

/** Returns true if a machine is Running or in deletion. Guards and a missing class cannot block such a machine. */
const isAtRest = ({ metadata, status }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined || status?.currentStatus?.phase === 'Running';

/** Returns the reason why a deployment has no next step. */
export function stoppedBy(deployment: MachineDeployment): Pick<DeploymentExplanation, 'next' | 'hints'> | undefined {
  const violations = validateDeployment(deployment);
  if (violations.length > 0) {
    const hints = violations.map(({ field, message }) => `correct ${field}, which ${message}`);
    return { next: 'no step, because the spec of the deployment is not valid', hints };
  }
  if (deployment.metadata.deletionTimestamp) {
    return { next: 'the deployment, its sets and its machines are being deleted', hints: [] };
  }
  if (isEmptySelector(deployment.spec.selector)) {
    return { next: 'no step, because spec.selector selects every machine', hints: ['add labels to spec.selector'] };
  }
  return undefined;
}

const MENDABLE: readonly string[] = [MachineDeploymentConditions.InvalidSpec, MachineDeploymentConditions.InputIgnored];

function cureOf(
  deployment: MachineDeployment,
  { type, reason, message }: RolloutPlan['problems']['conditions'][number],
) {
  if (!MENDABLE.includes(type)) return [];
  const { name } = deployment.spec.template.spec.class;
  if (reason === 'ClassNotFound')
    return [`create MachineClass ${name}, or change spec.template.spec.class.name; ${ROLLOUT_CONTINUES}`];
  const said = deployment.status?.conditions?.some((condition) => condition.message === message);
  return [`fix this problem: ${said ? message.replace(/: .*$/s, ' (see its conditions)') : message}`];
}

function nextOf(reading: DeploymentReading, plan: RolloutPlan, changes: readonly string[]): string {
  const { deployment } = reading;
  if (changes.length > 0) return plan.because;
  if (deployment.spec.paused) return `no step, because ${whyPaused(deployment)}`;
  if (isComplete(deployment, deployment.status)) return 'no step, because the deployment matches its spec';
  const because = plan.because.replace(/^waiting: /, '');
  return `the deployment waits: ${awaitedBy(reading, because)}`.replace(/^(the deployment waits): until /, '$1 until ');
}

function whyPaused({ metadata }: MachineDeployment): string {
  const note = metadata.annotations?.[Annotations.RolloutPausedBy];
  return note === undefined
    ? 'the rollout is paused'
    : `mcm paused the rollout: ${notedNames(note)} failed with the new template`;
}

type Staffed = Pick<DeploymentReading, 'deployment' | 'sets' | 'machines'>;

/**
 * Returns what a deployment waits for: the text of the controller, or the number of machines that must start or end.
 */
export const awaitedBy = (reading: Staffed, because: string): string =>
  ROUTINE.test(because) ? (awaited(reading) ?? because) : because;

/** Matches the text of the controller if a rollout only waits for machines. */
const ROUTINE = /^(no old machine remains|machines of the current set are not available)/;

/** Returns how many machines must start, and how many must end. */
function awaited({ deployment, sets, machines }: Staffed): string | undefined {
  const { current } = splitSets(deployment, sets);
  const of = (set: MachineSet): readonly Machine[] => machines.get(set.metadata.uid) ?? [];
  const isGoing = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;
  const newest = current ? of(current) : [];
  const present = newest.filter((machine) => !isGoing(machine));
  const failed = present.filter(({ status: { currentStatus: { phase } = {} } = {} }) => phase === 'Failed').length;
  const coming = present.filter((machine) => machineWait(machine)).length - failed;
  // A deployment does not wait for a machine whose drain cannot end, so such a machine is not counted.
  const going = sets.filter((set) => set !== current).flatMap((set) => of(set).filter((one) => !isUndrained(one)));
  const leaving = going.filter(isGoing).length;
  const replaced = newest.filter((machine) => isGoing(machine) && !isUndrained(machine)).length;
  const parts = [
    ...(coming > 0 ? [`${machinesOf(coming)} of the newest MachineSet ${isOrAre(coming)} Running`] : []),
    ...(failed > 0
      ? [
          `${counted(failed, 'Failed machine')} of the newest MachineSet ${failed === 1 ? 'recovers or is' : 'recover or are'} replaced`,
        ]
      : []),
    ...(replaced > 0 ? [`${machinesOf(replaced)} of the newest MachineSet ${isOrAre(replaced)} deleted`] : []),
    ...(leaving > 0 ? [`${machinesOf(leaving)} of older MachineSets ${isOrAre(leaving)} deleted`] : []),
  ];
  if (parts.length === 0) return undefined;
  const after = going.length - leaving;
  const next = after === 1 ? 'the last machine' : `the next of ${after} other machines`;
  return `until ${parts.join(' and ')}${after > 0 ? `; after the wait, mcm deletes ${next} of older MachineSets` : ''}`;
}

const machinesOf = (count: number): string => counted(count, 'machine');
const isOrAre = (count: number): string => (count === 1 ? 'is' : 'are');

export function wants({ spec, ...deployment }: MachineDeployment): string {
  const { surge, unavailable } = limitsOf({ ...deployment, spec });
  const type = spec.strategy?.type ?? 'RollingUpdate';
  const { maxSurge, maxUnavailable } = spec.strategy?.rollingUpdate ?? spec.strategy?.inPlaceUpdate ?? {};
  // If both limits are 0, a rollout could not start. In this case, mcm allows one unavailable machine.
  const nothing = surge === 0 && unavailable === 1 && floorOf(maxUnavailable, spec.replicas ?? 0) === 0;
  const floor = nothing ? ` (maxSurge ${maxSurge}, maxUnavailable ${maxUnavailable})` : '';
  const limits =
    type === 'Recreate'
      ? ''
      : `, with at most ${counted(surge, 'additional machine')} and ${counted(unavailable, 'unavailable machine')}${floor}`;
  const paused = spec.paused ? ', paused' : '';
  return `${machinesOf(spec.replicas ?? 0)} of class ${spec.template.spec.class.name ?? '?'} by ${type}${limits}${paused}${followedBuffer({ ...deployment, spec })}`;
}

function followedBuffer(deployment: MachineDeployment): string {
  const buffer = bufferOf(deployment);
  if (buffer === undefined) return '';
  const needed = deployment.metadata.annotations?.[Annotations.WarmBufferMachines];
  const machines = needed === undefined ? 'warm machines' : counted(Number(needed), 'warm machine');
  return `. CapacityBuffer ${buffer} needs ${machines}`;
}

const floorOf = (value: number | string | undefined, replicas: number): number =>
  typeof value === 'string' ? Math.floor((Number.parseInt(value, 10) * replicas) / 100) : (value ?? 0);

function has({ deployment, sets, machines }: DeploymentReading): string {
  const { current } = splitSets(deployment, sets);
  const parts = [...sets]
    .sort((a, b) => (revisionOf(a) ?? 0) - (revisionOf(b) ?? 0))
    .filter((set) => set === current || (machines.get(set.metadata.uid)?.length ?? 0) > 0)
    .map((set) => {
      const own = machines.get(set.metadata.uid) ?? [];
      const running = own.filter((machine) => !machineWait(machine)).length;
      return `${own.length} of set ${set.metadata.name}${set === current ? ' (the newest)' : ''}, ${running} Running`;
    });
  return parts.length === 0 ? 'the deployment has no machines and no MachineSet' : parts.join('; ');
}

function changesOf(plan: RolloutPlan, sets: readonly MachineSet[]): string[] {
  const before = new Map(sets.map((set) => [set.metadata.uid, set.spec.replicas ?? 0]));
  const resized = plan.write.flatMap(({ metadata, spec }) => {
    const from = before.get(metadata.uid);
    return from === undefined || from === (spec.replicas ?? 0)
      ? []
      : [`mcm scales MachineSet ${metadata.name} from ${from} to ${counted(spec.replicas ?? 0, 'machine')}`];
  });
  return [
    ...(plan.create
      ? [
          `mcm creates MachineSet ${plan.create.metadata.name ?? ''} with ${counted(plan.create.spec.replicas ?? 0, 'machine')}`,
        ]
      : []),
    ...resized,
    ...plan.inPlace.machines.map(
      ({ machine }) => `mcm moves machine ${machine.metadata.name} to the newest MachineSet`,
    ),
    ...plan.remove.map(
      (set) => `mcm deletes MachineSet ${set.metadata.name}, because the history exceeds revisionHistoryLimit`,
    ),
    ...(plan.rollback ? [plan.rollback.event.message] : []),
  ];
}

function blockersOf(deployment: MachineDeployment, sets: readonly MachineSet[]): string[] {
  const { current } = splitSets(deployment, sets);
  // Old sets without machines are ignored, because their conditions no longer matter.
  const used = sets.filter((set) => set === current || (set.spec.replicas ?? 0) > 0 || (set.status?.replicas ?? 0) > 0);
  const ofSets = used.flatMap(({ metadata, status }) =>
    (status?.machineSetCondition ?? [])
      .filter(({ status: is }) => is === 'True')
      .map((condition) => `machineset ${metadata.name}: ${conditionLine(condition)}`),
  );
  return [...problemsOf(deployment).map(conditionLine), ...ofSets];
}

function conditionLine({ type, status, reason = '', message = '', lastTransitionTime: since }: Reported): string {
  const from = since ? `, since ${since}` : '';
  return `${type}=${status} (${reason}${from}): ${message}`;
}

/** The objects of a deployment whose conditions are shown. */
type Reported = Pick<
  ReturnType<typeof problemsOf>[number],
  'type' | 'status' | 'reason' | 'message' | 'lastTransitionTime'
>;
