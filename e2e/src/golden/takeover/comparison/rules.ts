import type { ComparedFields, Difference } from '../recordings/compared-fields.ts';
import { ABSENT, type Course } from './sequences.ts';

export interface Rule {
  readonly row: string;
  /** What the difference is, and why the row in the table covers it. */
  readonly what: string;
  readonly kinds: readonly string[];
  excuses?(difference: Difference, sides: Sides): boolean;
  excusesStep?(step: Step, courses: Courses): boolean;
}

interface Sides {
  readonly ours: ComparedFields;
  readonly theirs: ComparedFields;
}

export interface Step {
  readonly lane: string;
  readonly ours: string | undefined;
  readonly theirs: string | undefined;
}

interface Courses {
  readonly ours: Course;
  readonly theirs: Course;
}

const PACE = 'Steps of a creation, a deletion, a drain';
const NODE_FINALIZER = 'node.machine.sapcloud.io/machine-controller';
const REVISION = '.metadata.annotations.deployment.kubernetes.io/revision';
const SYNCED = '.metadata.annotations.node.machine.sapcloud.io/last-applied-anno-labels-taints';
const MACHINE_NAME = '.metadata.labels.node.gardener.cloud/machine-name';
const SELECTED_FOR = '.metadata.annotations.node.machine.sapcloud.io/selected-for-template';
const CLASS_OF_NODE = '.metadata.annotations.node.machine.sapcloud.io/machine-class';
const PROTECT = '.metadata.annotations.deployment.machine.sapcloud.io/protect-new-node';
const DELETED_FOR_HEALTH = '.metadata.annotations.node.machine.sapcloud.io/deleted-for-health';
const REPLACEMENT = '.metadata.annotations.node.machine.sapcloud.io/replacement';
const PRIORITY = '.metadata.annotations.machinepriority.machine.sapcloud.io';
const NUMBERS = '.metadata.annotations.node.machine.sapcloud.io/next-machine-numbers';
const IN_PLACE = '.status.conditions[InPlaceUpdate]';
const TERMINATING = '.status.conditions[Terminating]';
const OPERATION = '.status.lastOperation';
/** Matches the text that mcm writes before the text of a step to explain a wait. */
const WAITING = /^(\w+ \w+ )?Waiting: .*\. (?=[A-Z])/;
/** Matches the texts about the steps of a deletion. */
const STEP_OF_DELETION =
  /^Delete Processing (Deleting machine from cloud provider$|.*(Now, getting VM Status|Initiate node drain|Delete Volume Attachments|Initiate VM deletion|Initiate node object deletion|Initiate machine object finalizer removal)$)/;
const PHASE = '.status.currentStatus.phase';
/** Matches the texts of failed operations that make a machine `Failed`. */
const FAILURE = /^(Create|HealthCheck|InPlaceUpdate) Failed /;
const BIRTH: Readonly<Record<string, string>> = {
  [PHASE]: 'Pending',
  [OPERATION]: 'Create Processing Creating machine on cloud provider',
};
const UNHEALTHY: ReadonlySet<string> = new Set(['Pending', 'CrashLoopBackOff', 'Unknown', 'Failed']);

/** Matches the annotation that stores the numbers of a set: the next number, and each number without a response. */
const COUNT = /^\d+(,\d+)*$/;
const CLASS = /^[^/\s]+\/[^/\s]+$/;
/** Matches the hash of a template. After an update to another template, the text is empty. */
const TEMPLATE = /^[a-z0-9]*$/;
const REPLACES = /^(true|unjoined|absent)$/;

const isDeleted = (machine: ComparedFields): boolean =>
  machine.has('.metadata.deletionTimestamp') || machine.get(PHASE) === 'Terminating';
const isFinalizer = (path: string): boolean => path.startsWith('.metadata.finalizers');
const isLeaving = (node: ComparedFields): boolean => node.get(`${TERMINATING}.status`) === 'True';
const withoutWaiting = (text: string): string => text.replace(WAITING, (_all, kind?: string) => kind ?? '');
const isWaiting = (ours: string | undefined, theirs: string | undefined): boolean =>
  ours !== undefined && WAITING.test(ours) && withoutWaiting(ours) === theirs;
const wasIn = ({ lanes }: Course, lane: string, value: string): boolean =>
  lanes.get(lane)?.some((visit) => visit.value === value) ?? false;
/** Returns true if the original also replaced the machine. */
function wasReplaced(course: Course): boolean {
  if (wasIn(course, PHASE, 'Failed')) return true;
  const phases = course.lanes.get(PHASE)?.map(({ value }) => value) ?? [];
  const end = phases.indexOf('Terminating');
  const isDeleted = end >= 0 || wasIn(course, 'presence', 'gone');
  return isDeleted && UNHEALTHY.has(phases.at(end < 0 ? -1 : end - 1) ?? '');
}
/** Returns true if the controllers copy the value at this path from the machine to its Node. */
const isFromMachine = (path: string, record: string | undefined): boolean =>
  record !== undefined &&
  (path === SYNCED ||
    path === MACHINE_NAME ||
    appliedPaths(record).some((one) => path === one || path.startsWith(`${one}.`)));
const times = ({ lanes }: Course, lane: string): number => lanes.get(lane)?.length ?? 0;

/** The intended differences between mcm and the original. A rule must not depend on a case, a name or a number. */
export const RULES: readonly Rule[] = [
  {
    row: "A blocked step's text",
    what: 'the reason for the wait precedes the text of the step',
    kinds: ['Machine', 'MachineSet', 'MachineDeployment'],
    excuses: ({ path, ours, theirs }) => path.endsWith('.description') && isWaiting(ours, theirs),
    excusesStep: ({ lane, ours, theirs }) => lane === OPERATION && isWaiting(ours, theirs),
  },
  {
    row: 'Condition `Terminating` of a Node',
    what: 'a Failed machine has no reason ScaleDown',
    kinds: ['Node'],
    excuses: ({ path, ours, theirs }) =>
      path === `${TERMINATING}.reason` && ours === 'Unhealthy' && theirs === 'ScaleDown',
    excusesStep: ({ lane, ours, theirs }) =>
      lane === TERMINATING && ours === 'True/Unhealthy' && theirs === 'True/ScaleDown',
  },
  {
    row: 'Finalizer of a Node',
    what: 'the controller sets the finalizer at the first reconcile of the joined machine',
    kinds: ['Node'],
    excuses: ({ path, ours, theirs }) => isFinalizer(path) && ours === NODE_FINALIZER && theirs === undefined,
    excusesStep: ({ lane, ours, theirs }) => isFinalizer(lane) && ours === NODE_FINALIZER && theirs === undefined,
  },
  {
    row: 'Finalizer of a Node with nothing to drain',
    what: 'the controller removes the finalizer together with the cordon',
    kinds: ['Node'],
    excuses: ({ path, ours, theirs }, sides) =>
      isFinalizer(path) && theirs === NODE_FINALIZER && ours === undefined && isLeaving(sides.ours),
    excusesStep: ({ lane, ours, theirs }, courses) =>
      isFinalizer(lane) && ours === ABSENT && theirs === undefined && times(courses.ours, TERMINATING) > 0,
  },
  {
    row: 'Annotation `deployment.machine.sapcloud.io/protect-new-node` of a Machine',
    what: 'the first write of a machine in a rollout protects its Node from the autoscaler',
    kinds: ['Machine'],
    excuses: ({ path, ours, theirs }) => path === PROTECT && ours === 'true' && theirs === undefined,
    excusesStep: ({ lane, ours, theirs }) => lane === PROTECT && ours === 'true' && theirs === undefined,
  },
  {
    row: 'Names of machines',
    what: 'an annotation of a MachineSet counts the machine names that the MachineSet has used',
    kinds: ['MachineSet'],
    excuses: ({ path, ours, theirs }) => path === NUMBERS && COUNT.test(ours ?? '') && theirs === undefined,
    excusesStep: ({ lane, ours, theirs }) => lane === NUMBERS && COUNT.test(ours ?? '') && theirs === undefined,
  },
  {
    row: 'Annotation `machine-class` of a Node',
    what: 'the annotation of a Node contains the class of its machine',
    kinds: ['Node'],
    excuses: ({ path, ours, theirs }) => path === CLASS_OF_NODE && CLASS.test(ours ?? '') && theirs === undefined,
    excusesStep: ({ lane, ours, theirs }) => lane === CLASS_OF_NODE && CLASS.test(ours ?? '') && theirs === undefined,
  },
  {
    row: 'Failed machines',
    what: 'mcm delays the replacement of a machine that fails during another replacement',
    kinds: ['Machine'],
    excusesStep: ({ lane, ours, theirs }, courses) =>
      theirs === undefined &&
      ours !== undefined &&
      ((lane === PHASE && ours === 'Failed') || (lane === OPERATION && FAILURE.test(ours))) &&
      wasReplaced(courses.theirs),
  },
  {
    row: 'Annotation `node.machine.sapcloud.io/deleted-for-health` of a Machine',
    what: 'a deleted machine that was Failed gets the annotation',
    kinds: ['Machine'],
    excuses: ({ path, ours, theirs }, sides) =>
      path === DELETED_FOR_HEALTH && /^true$/i.test(ours ?? '') && theirs === undefined && isDeleted(sides.ours),
    excusesStep: ({ lane, ours, theirs }, courses) =>
      lane === DELETED_FOR_HEALTH &&
      /^true$/i.test(ours ?? '') &&
      theirs === undefined &&
      wasIn(courses.ours, PHASE, 'Failed'),
  },
  {
    row: 'Annotation `node.machine.sapcloud.io/replacement` of a Machine',
    what: 'a replacement machine gets the annotation',
    kinds: ['Machine'],
    excuses: ({ path, ours, theirs }) => path === REPLACEMENT && REPLACES.test(ours ?? '') && theirs === undefined,
    excusesStep: ({ lane, ours, theirs }) => lane === REPLACEMENT && REPLACES.test(ours ?? '') && theirs === undefined,
  },
  {
    row: 'Finalizer and priority of a Machine',
    what: 'the request that creates a machine sets its priority',
    kinds: ['Machine'],
    excuses: ({ path, ours, theirs }) => path === PRIORITY && ours === '3' && theirs === undefined,
  },
  {
    row: 'Annotation `revision-history`',
    what: 'a change without a new revision adds no entry to the annotation',
    kinds: ['MachineSet'],
    excuses: ({ path, ours, theirs }, sides) =>
      path.endsWith('deployment.kubernetes.io/revision-history') &&
      withoutRepeats(theirs, sides.theirs.get(REVISION)) === withoutRepeats(ours, sides.ours.get(REVISION)),
    excusesStep: ({ lane, ours, theirs }, courses) =>
      lane.endsWith('deployment.kubernetes.io/revision-history') &&
      ours === undefined &&
      isRepeated(theirs, courses.theirs.lanes.get(REVISION)?.map(({ value }) => value) ?? []),
  },
  {
    row: 'Another template during an update in place',
    what: 'the in-place update uses the template that was current at the selection of the node',
    kinds: ['Node'],
    excuses: ({ path, ours, theirs }) => path === SELECTED_FOR && TEMPLATE.test(ours ?? '') && theirs === undefined,
    excusesStep: ({ lane, ours, theirs }) => lane === SELECTED_FOR && TEMPLATE.test(ours ?? '') && theirs === undefined,
  },
  {
    row: PACE,
    what: 'the status omits a deletion step that ends immediately',
    kinds: ['Machine'],
    excusesStep: ({ lane, ours, theirs }, courses) =>
      lane === OPERATION &&
      (ours === undefined
        ? theirs !== undefined && STEP_OF_DELETION.test(theirs)
        : theirs === undefined && STEP_OF_DELETION.test(ours) && !wasIn(courses.theirs, lane, ours)),
  },
  {
    row: PACE,
    what: 'in the original, the node can join before the next reconcile of its machine',
    kinds: ['Machine'],
    excusesStep: ({ lane, ours, theirs }) => ours !== undefined && ours === BIRTH[lane] && theirs === undefined,
  },
  {
    row: PACE,
    what: 'the original sets the labels and taints of a node only at the second reconcile',
    kinds: ['Node'],
    excuses: ({ path, theirs }, sides) =>
      isFromMachine(path, sides.ours.get(SYNCED)) && theirs === undefined && !sides.theirs.has(SYNCED),
    excusesStep: ({ lane, theirs }, courses) =>
      (courses.ours.lanes.get(SYNCED) ?? []).some(({ value }) => isFromMachine(lane, value)) &&
      theirs === undefined &&
      times(courses.theirs, SYNCED) < times(courses.ours, SYNCED),
  },
  {
    row: PACE,
    what: 'the original marks a node as a candidate later, or never if a user already selected the node',
    kinds: ['Node', 'Machine'],
    excuses: ({ path, theirs }, sides) =>
      path.startsWith(IN_PLACE) &&
      theirs === undefined &&
      sides.ours.get(`${IN_PLACE}.reason`) === 'CandidateForUpdate' &&
      !sides.theirs.has(`${IN_PLACE}.type`),
    excusesStep: ({ lane, ours, theirs }) =>
      lane === IN_PLACE && ours === 'True/CandidateForUpdate' && theirs === undefined,
  },
];

/** Returns true if a history repeats a revision, or contains a revision that the set has now or had before. */
function isRepeated(history: string | undefined, revisions: readonly string[]): boolean {
  const entries = (history ?? '').split(',').filter(Boolean);
  return new Set(entries).size < entries.length || entries.some((entry) => revisions.includes(entry));
}

function withoutRepeats(history: string | undefined, present: string | undefined): string {
  return [...new Set((history ?? '').split(',').filter((revision) => revision && revision !== present))].join(',');
}

/** Returns the paths of the labels, annotations and taints in the record of a node template. */
function appliedPaths(record: string): readonly string[] {
  const { metadata, spec } = (record.startsWith('{') ? JSON.parse(record) : {}) as Template;
  return [
    ...Object.keys(metadata?.labels ?? {}).map((key) => `.metadata.labels.${key}`),
    ...Object.keys(metadata?.annotations ?? {}).map((key) => `.metadata.annotations.${key}`),
    ...(spec?.taints ?? []).map(({ key, effect }) => `.spec.taints[${key}/${effect}]`),
  ];
}

interface Template {
  readonly metadata?: { readonly labels?: object; readonly annotations?: object };
  readonly spec?: { readonly taints?: readonly { readonly key: string; readonly effect: string }[] };
}
