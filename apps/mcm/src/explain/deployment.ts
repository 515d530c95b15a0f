import {
  Labels,
  type Machine,
  type MachineDeployment,
  MachineDeploymentConditions,
  type MachineSet,
  Taints,
} from '@mcm/api';
import {
  countsTerminating,
  type DeploymentSnapshot,
  guardsOf,
  isComplete,
  isEmptySelector,
  limitsOf,
  overlapping as overlaps,
  PlanRefused,
  planRollout,
  type RolloutPlan,
  revisionOf,
  SAFEGUARD_DEFAULTS,
  splitSets,
  validateDeployment,
} from '@mcm/core';
import type { Node } from '@mcm/kube';
import type { DeploymentReading, FullReading } from '../deployment-reading.ts';
import { disruptionCures, disruptionLines } from './disruption.ts';
import { ASSUMED, type MachineSettings } from './machine-settings.ts';
import { type MachineWait, machineWait, waitLine } from './machine-wait.ts';
import type { ManagerSettings } from './manager-settings.ts';

/** Why a deployment is where it is. */
export interface DeploymentExplanation {
  readonly name: string;
  readonly wants: string;
  readonly has: string;
  /** The controller's next step, by the decision function that the controller itself uses. */
  readonly next: string;
  /** Changes that this step makes, one a line; empty when it only waits. */
  readonly changes: readonly string[];
  /** Machines that are on their way somewhere. */
  readonly waitsFor: readonly MachineWait[];
  /** What of its budget is used up and by what, and which failed machines are replaced, wait or are held back. */
  readonly disruption: readonly string[];
  /** What the manager's flags change of it, or what of them is not known. */
  readonly remarks: readonly string[];
  /** What keeps it from going on, in the words of its conditions. */
  readonly blockers: readonly string[];
  /** Commands and edits that would let it go on. */
  readonly cures: readonly string[];
}

/** Explains a deployment from what the API has of it, as a manager with these settings sees it. Pure. */
export function explainDeployment(
  reading: DeploymentReading & Partial<FullReading>,
  now: Date,
  nodes?: readonly Node[],
  { safeguards, remark }: ManagerSettings = { safeguards: SAFEGUARD_DEFAULTS, remark: undefined },
  ofMachines: MachineSettings = ASSUMED,
): DeploymentExplanation {
  const { deployment, sets, machines, fleet, classes, others = [] } = reading;
  const all = [...machines.values()].flat();
  const classNamed = (name = '') => classes?.find(({ metadata }) => metadata.name === name);
  const waitsFor = all.flatMap(
    (machine) => machineWait(machine, classNamed(machine.spec.class.name), ofMachines.defaults) ?? [],
  );
  const doubted = waitsFor.some(({ deadline }) => deadline) ? ofMachines.remark : undefined;
  const base = {
    name: deployment.metadata.name,
    wants: wants(deployment),
    has: has(reading),
    waitsFor,
    disruption: [],
    remarks: [remark, doubted].filter((each) => each !== undefined),
    changes: [],
    blockers: blockersOf(deployment),
  };
  const violations = validateDeployment(deployment);
  if (violations.length > 0) {
    const cures = violations.map(({ field, message }) => `mend ${field}: it ${message}`);
    return { ...base, next: 'nothing: its spec is not valid', cures };
  }
  if (deployment.metadata.deletionTimestamp) {
    return { ...base, next: 'it is being deleted, and its sets and machines with it', cures: [] };
  }
  if (isEmptySelector(deployment.spec.selector)) {
    return { ...base, next: 'nothing: its selector selects everything', cures: ['name labels in spec.selector'] };
  }
  const overlapping = new Set(overlaps(deployment, others));
  const byName = nodes && new Map(nodes.map((node) => [node.metadata.name, node]));
  const snapshot: DeploymentSnapshot = {
    deployment,
    sets,
    machines,
    creating: () => 0,
    ...(byName ? { nodeOf: (name: string) => byName.get(name) } : {}),
    ...(classes ? { guards: guardsOf({ machines: fleet, classes, nodes }, safeguards, now) } : {}),
    overlaps: others.filter(({ metadata }) => overlapping.has(metadata.name)),
    now,
  };
  try {
    const plan = planRollout(snapshot);
    const changes = changesOf(plan, sets);
    const disruption = disruptionLines(plan.repairs, countsTerminating(deployment, safeguards));
    const cures = [
      ...curesOf(deployment, all, sets.length),
      ...(byName ? inPlaceCures(deployment, all, byName) : []),
      ...disruptionCures(plan.repairs),
      ...plan.troubles.conditions.flatMap(cureOf),
    ];
    return { ...base, next: nextOf(reading, plan, changes), changes, disruption, cures };
  } catch (error) {
    if (!(error instanceof PlanRefused)) throw error;
    const cures = ['this is a defect of mcm: report it with the deployment, its sets and machines as YAML'];
    return { ...base, next: `nothing: ${error.message}`, cures };
  }
}

const MENDABLE: readonly string[] = [MachineDeploymentConditions.InvalidSpec, MachineDeploymentConditions.InputIgnored];

const cureOf = ({ type, message }: { readonly type: string; readonly message: string }): string[] =>
  MENDABLE.includes(type) ? [`mend ${message}`] : [];

function nextOf(reading: DeploymentReading, plan: RolloutPlan, changes: readonly string[]): string {
  const { deployment } = reading;
  if (changes.length > 0) return plan.because;
  if (deployment.spec.paused) return 'nothing: the rollout is paused';
  if (isComplete(deployment, deployment.status)) return 'nothing: it is as asked for';
  const because = plan.because.replace(/^waiting: /, '');
  return `it waits: ${ROUTINE.test(because) ? (awaited(reading) ?? because) : because}`;
}

/** The controller's words for a rollout that nothing holds up but machines: a person wants to know which. */
const ROUTINE = /^(no old machine is left|machines of the current set are not available)/;

/** How many machines have yet to come up, and how many to go; undefined when neither is the case. */
function awaited({ deployment, sets, machines }: DeploymentReading): string | undefined {
  const { current } = splitSets(deployment, sets);
  const of = (set: MachineSet): readonly Machine[] => machines.get(set.metadata.uid) ?? [];
  const coming = (current ? of(current) : []).filter((machine) => machineWait(machine)).length;
  const going = sets.filter((set) => set !== current).flatMap(of);
  const leaving = going.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length;
  const parts = [
    ...(coming > 0 ? [`${machinesOf(coming)} of the newest set to be Running`] : []),
    ...(leaving > 0 ? [`${machinesOf(leaving)} of older sets to be gone`] : []),
  ];
  if (parts.length === 0) return undefined;
  const after = going.length - leaving;
  return `for ${parts.join(' and ')}${after > 0 ? `; then the next of ${after} more of older sets` : ''}`;
}

const machinesOf = (count: number): string => `${count} machine${count === 1 ? '' : 's'}`;

/** What a deployment asks for, in a few words. */
export function wants({ spec, ...deployment }: MachineDeployment): string {
  const { surge, unavailable } = limitsOf({ ...deployment, spec });
  const type = spec.strategy?.type ?? 'RollingUpdate';
  const { maxSurge, maxUnavailable } = spec.strategy?.rollingUpdate ?? spec.strategy?.inPlaceUpdate ?? {};
  // Both come to nothing: one may be missing all the same, or nothing could ever move.
  const nothing = surge === 0 && unavailable === 1 && floorOf(maxUnavailable, spec.replicas ?? 0) === 0;
  const floor = nothing ? ` (maxSurge ${maxSurge} and maxUnavailable ${maxUnavailable} both come to 0)` : '';
  const limits = type === 'Recreate' ? '' : `, at most ${surge} more and ${unavailable} unavailable${floor}`;
  const paused = spec.paused ? ', paused' : '';
  return `${spec.replicas ?? 0} machines of class ${spec.template.spec.class.name ?? '?'} by ${type}${limits}${paused}`;
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
  return parts.length === 0 ? 'no machines and no set' : parts.join('; ');
}

function changesOf(plan: RolloutPlan, sets: readonly MachineSet[]): string[] {
  const before = new Map(sets.map((set) => [set.metadata.uid, set.spec.replicas ?? 0]));
  const resized = plan.write.flatMap(({ metadata, spec }) => {
    const from = before.get(metadata.uid);
    return from === undefined || from === (spec.replicas ?? 0)
      ? []
      : [`set ${metadata.name} goes from ${from} to ${spec.replicas ?? 0} machines`];
  });
  return [
    ...(plan.create
      ? [`set ${plan.create.metadata.name ?? ''} is made with ${plan.create.spec.replicas ?? 0} machines`]
      : []),
    ...resized,
    ...plan.inPlace.machines.map(({ machine }) => `machine ${machine.metadata.name} is handed to the newest set`),
    ...plan.remove.map((set) => `set ${set.metadata.name} is deleted: more history than revisionHistoryLimit`),
    ...(plan.rollback ? [plan.rollback.event.message] : []),
  ];
}

/** The two conditions that every healthy deployment has block only when False; any other says that something is wrong. */
function blockersOf({ status }: MachineDeployment): string[] {
  const usual: readonly string[] = [MachineDeploymentConditions.Available, MachineDeploymentConditions.Progressing];
  return (status?.conditions ?? []).flatMap((condition) => {
    const wrong = usual.includes(condition.type) ? condition.status === 'False' : condition.status === 'True';
    if (!wrong) return [];
    return [`${condition.type}=${condition.status} (${condition.reason ?? ''}): ${condition.message ?? ''}`];
  });
}

function curesOf(
  { metadata, spec, status }: MachineDeployment,
  machines: readonly Machine[],
  revisions: number,
): string[] {
  const cures: string[] = [];
  if (spec.paused) cures.push(`the rollout goes on with: mcm rollout resume ${metadata.name}`);
  if (status?.conditions?.some(({ type }) => type === MachineDeploymentConditions.Frozen)) {
    cures.push('it is frozen while a set has too many machines; it thaws by itself once they are gone');
  }
  for (const machine of machines) {
    const code = machine.status?.lastOperation?.errorCode;
    if (machine.status?.lastOperation?.state === 'Failed' && code) {
      cures.push(`see what the cloud said: mcm explain machine/${machine.metadata.name} (${code})`);
      if (code === 'InvalidArgument' && revisions > 1) cures.push(`or go back: mcm rollout undo ${metadata.name}`);
    } else if (machine.metadata.deletionTimestamp) {
      cures.push(`see what its drain waits for: mcm explain machine/${machine.metadata.name}`);
    }
  }
  return cures;
}

const MOST_NAMES = 3;

/** What an operator has to do by hand in updates in place. */
function inPlaceCures(
  { spec }: MachineDeployment,
  machines: readonly Machine[],
  nodes: ReadonlyMap<string, Node>,
): string[] {
  if (spec.strategy?.type !== 'InPlaceUpdate') return [];
  const own = machines.flatMap(({ metadata }) => nodes.get(metadata.labels?.[Labels.Node] ?? '') ?? []);
  const has = ({ metadata }: Node, label: string) => metadata.labels?.[label] !== undefined;
  const names = (found: readonly Node[]) => {
    const more = found.length > MOST_NAMES ? ` and ${found.length - MOST_NAMES} more` : '';
    const first = found.slice(0, MOST_NAMES).map(({ metadata }) => metadata.name);
    return `${first.join(', ')}${more}`;
  };
  const waiting = own.filter((node) => has(node, Labels.CandidateForUpdate) && !has(node, Labels.SelectedForUpdate));
  const { key } = Taints.CriticalComponentsNotReady;
  const shut = own.filter((node) => node.spec.taints?.some((taint) => taint.key === key));
  return [
    ...(spec.strategy.inPlaceUpdate?.orchestrationType === 'Manual' && waiting.length > 0
      ? [`select nodes for their update: kubectl label node NAME ${Labels.SelectedForUpdate}=true (${names(waiting)})`]
      : []),
    ...(shut.length > 0
      ? [
          `pods stay away from ${names(shut)} until whoever minds its critical components takes this off: kubectl taint node NAME ${key}-`,
        ]
      : []),
  ];
}

/** The explanation as lines for a person. */
export function deploymentLines(explanation: DeploymentExplanation, now: Date): string[] {
  const {
    name,
    wants: wanted,
    has: there,
    next,
    changes,
    waitsFor,
    disruption,
    remarks,
    blockers,
    cures,
  } = explanation;
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : ['', title, ...items.map((item) => `  - ${item}`)];
  return [
    `machinedeployment ${name}`,
    `  wants  ${wanted}`,
    `  has    ${there}`,
    `  next   ${next}`,
    ...list('This step:', changes),
    ...list(
      'Waits for:',
      waitsFor.map((wait) => waitLine(wait, now)),
    ),
    ...list('Disruption:', disruption),
    ...list('Says of itself:', blockers),
    ...list('Flags:', remarks),
    ...list('What would help:', [...new Set(cures)]),
  ];
}
