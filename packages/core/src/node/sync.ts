import {
  Annotations,
  Finalizers,
  Labels,
  type Machine,
  type MachineClass,
  type NodeTemplateSpec,
  quantitiesEqual,
  TRUE_LOWER,
} from '@mcm/api';
import { isRecord, makeKey, type Node, type Taint, withoutUndefined } from '@mcm/kube';
import { offeringOf } from '../driver/offerings/alternative.ts';
import { jsonEquals } from '../values/merge-diff.ts';
import { type DriftKind, type DriftPolicies, driftPoliciesOf, hasDrifted, hasDriftPolicies } from './drift.ts';
import type { NodeChange } from './patch.ts';

/**
 * The writes that update a Node. At most one write changes the metadata and the spec, and at most one write changes the
 * status.
 */
export interface NodePatch {
  readonly main?: NodeChange | undefined;
  /** mcm applies the values with the policy `Yield` before it sends `main`. */
  readonly apply?: AppliedMetadata | undefined;
  /** A merge patch with the virtual capacity, which mcm sends after `main`. */
  readonly status?: object | undefined;
}

export interface AppliedMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

type Changes = Record<string, string | null>;

/**
 * Returns the changes of a map, in which null removes a key.
 * - mcm removes each key that it applied before and that is no longer wanted.
 * - Wanted keys are added or changed.
 */
export function syncMap(
  current: Readonly<Record<string, string>>,
  lastApplied: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): Changes {
  const changes: Changes = {};
  for (const key of Object.keys(lastApplied)) {
    if (!Object.hasOwn(wanted, key) && Object.hasOwn(current, key)) changes[key] = null;
  }
  for (const [key, value] of Object.entries(wanted)) {
    if (!Object.hasOwn(current, key) || current[key] !== value) changes[key] = value;
  }
  return changes;
}

const taintId = ({ key, effect }: Taint): string => `${key}:${effect}`;

/**
 * Key and effect identify a taint. Existing taints keep their order, new taints are added at the end, and taints of
 * other clients stay.
 */
export function syncTaints(
  current: readonly Taint[],
  lastApplied: readonly Taint[],
  wanted: readonly Taint[],
): Taint[] | undefined {
  const wantedById = new Map(wanted.map((taint) => [taintId(taint), taint]));
  const ours = new Set(lastApplied.map(taintId));
  const kept = current
    .filter((taint) => wantedById.has(taintId(taint)) || !ours.has(taintId(taint)))
    .map((taint) => wantedById.get(taintId(taint)) ?? taint);
  const present = new Set(kept.map(taintId));
  const result = [...kept, ...[...wantedById.values()].filter((taint) => !present.has(taintId(taint)))];
  return jsonEquals(result, current) ? undefined : result;
}

/** Virtual capacity never changes the entries of real resources. */
export function syncCapacity(
  current: Readonly<Record<string, string>>,
  lastApplied: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): Changes {
  const changes = syncMap(current, lastApplied, wanted);
  for (const [key, value] of Object.entries(changes)) {
    const old = current[key];
    if (value !== null && old !== undefined && quantitiesEqual(old, value)) delete changes[key];
  }
  return changes;
}

const stringMap = (value: unknown): Record<string, string> =>
  isRecord(value)
    ? Object.fromEntries(
        Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
      )
    : {};

/** An invalid record of applied values counts as empty, so mcm removes no values. */
export function parseLastApplied(text: string | undefined): {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly taints: readonly Taint[];
} {
  const parsed = parseJson(text);
  const metadata = isRecord(parsed?.metadata) ? parsed.metadata : {};
  const spec = isRecord(parsed?.spec) ? parsed.spec : {};
  const taints = Array.isArray(spec.taints) ? spec.taints : [];
  return {
    labels: stringMap(metadata.labels),
    annotations: stringMap(metadata.annotations),
    taints: taints.filter(
      (taint): taint is Taint => isRecord(taint) && typeof taint.key === 'string' && typeof taint.effect === 'string',
    ),
  };
}

function parseJson(text: string | undefined): Record<string, unknown> | undefined {
  if (!text) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // A user edited the record, so mcm ignores the record and writes it again.
  }
}

/**
 * The record of applied values contains the metadata and the spec of the template, with the encoding of the original.
 */
const record = (template: NodeTemplateSpec | undefined): object => ({
  metadata: template?.metadata ?? {},
  spec: template?.spec ?? {},
});

const quantityMap = (map: Readonly<Record<string, string | number>> | undefined): Record<string, string> =>
  Object.fromEntries(Object.entries(map ?? {}).map(([key, value]) => [key, String(value)]));

const nonEmpty = (map: object): boolean => Object.keys(map).length > 0;

/**
 * Plans the update of a Node from its machine, or returns undefined if nothing changes. The update of a Node contains:
 * - the labels, annotations and taints of the template, and the record of the applied values
 * - the name of the machine
 * - the finalizer
 * - the virtual capacity
 */
export function planNodeSync(
  machine: Machine,
  machineClass: MachineClass | undefined,
  node: Node,
): NodePatch | undefined {
  const { metadata } = node;
  const template = templateOf(machine);
  const last = parseLastApplied(metadata.annotations?.[Annotations.LastAppliedNodeTemplate]);
  const drift = driftOf(machine, machineClass, node, last);
  const labels = {
    ...drift.labels.main,
    ...syncMap(metadata.labels ?? {}, {}, { [Labels.MachineName]: machine.metadata.name }),
  };
  const taints = syncTaints(
    node.spec.taints ?? [],
    last.taints.filter(drift.mayChange),
    (template?.spec?.taints ?? []).filter(drift.mayChange),
  );
  const capacity = planCapacity(machineClass, node);
  const annotations = {
    ...drift.annotations.main,
    ...syncRecord(metadata.annotations, template),
    ...capacity.record,
    ...protectionOf(machine, node),
    ...withoutUndefined({
      [Annotations.MachineClassOfNode]: Object.hasOwn(labels, Labels.MachineName) ? classKey(machine) : undefined,
    }),
  };
  const finalizers = metadata.finalizers ?? [];
  const missesFinalizer =
    !finalizers.includes(Finalizers.Node) && !metadata.deletionTimestamp && !machine.metadata.deletionTimestamp;

  const newMetadata = withoutUndefined({
    labels: nonEmpty(labels) ? labels : undefined,
    annotations: nonEmpty(annotations) ? annotations : undefined,
    finalizers: missesFinalizer ? [...finalizers, Finalizers.Node].sort() : undefined,
  });
  const main = withoutUndefined({
    metadata: nonEmpty(newMetadata) ? newMetadata : undefined,
    spec: taints ? { taints } : undefined,
  });
  const applies = nonEmpty(drift.labels.yielding) || nonEmpty(drift.annotations.yielding);
  const patch = withoutUndefined({
    apply: applies ? { labels: drift.labels.held, annotations: drift.annotations.held } : undefined,
    main: nonEmpty(main) ? main : undefined,
    status: nonEmpty(capacity.changes) ? { capacity: capacity.changes } : undefined,
  });
  return nonEmpty(patch) ? patch : undefined;
}

/**
 * mcm adds annotations against a scale-down only to a new Node, because the manager removes these annotations after the
 * rollout.
 */
function protectionOf({ metadata, status }: Machine, { metadata: { annotations = {} } }: Node): Changes {
  const isNew = annotations[Annotations.LastAppliedNodeTemplate] === undefined;
  const wanted = metadata.annotations?.[Annotations.ProtectNewNode] === TRUE_LOWER;
  if (!wanted || !isNew || status?.currentStatus?.phase !== 'Pending') return {};
  if (annotations[Annotations.ScaleDownDisabled] !== undefined) return {};
  return { [Annotations.ScaleDownDisabled]: TRUE_LOWER, [Annotations.ScaleDownDisabledByMCM]: TRUE_LOWER };
}

type TextMap = Readonly<Record<string, string>>;

interface DividedMap {
  readonly main: Changes;
  readonly yielding: TextMap;
  readonly held: TextMap;
  readonly warned: readonly string[];
}

function divided(
  kind: DriftKind,
  current: TextMap,
  last: TextMap,
  wanted: TextMap,
  policies: DriftPolicies,
): DividedMap {
  const main: Changes = {};
  const yielding: Record<string, string> = {};
  const held: Record<string, string> = {};
  const warned: string[] = [];
  const changes = syncMap(current, last, wanted);
  for (const key of new Set([...Object.keys(last), ...Object.keys(wanted)])) {
    const policy = policies(kind, key);
    const own = (map: TextMap): string | undefined => (Object.hasOwn(map, key) ? map[key] : undefined);
    const drifted = policy !== 'Enforce' && hasDrifted(own(current), own(last), own(wanted));
    if (drifted && policy === 'Warn') warned.push(key);
    const change = changes[key];
    const value = own(wanted);
    if (policy === 'Yield' && !drifted && value !== undefined) held[key] = value;
    if (change === undefined || drifted) continue;
    if (policy === 'Yield' && change !== null) yielding[key] = change;
    else main[key] = change;
  }
  return { main, yielding, held, warned };
}

type LastApplied = ReturnType<typeof parseLastApplied>;

function driftOf(machine: Machine, machineClass: MachineClass | undefined, node: Node, last: LastApplied) {
  const policies = driftPoliciesOf(machine, machineClass);
  const { metadata, spec } = templateOf(machine) ?? {};
  const { labels = {}, annotations = {} } = node.metadata;
  const textOf = (taints: readonly Taint[] | undefined, id: string): string | undefined => {
    const found = taints?.find((taint) => taintId(taint) === id);
    return found && `${found.effect} ${found.value ?? ''}`;
  };
  const hasDriftedTaint = (taint: Taint): boolean => {
    const id = taintId(taint);
    return hasDrifted(textOf(node.spec.taints, id), textOf(last.taints, id), textOf(spec?.taints, id));
  };
  const isFree = (taint: Taint): boolean => policies('taints', taint.key) !== 'Enforce';
  const ours = new Map([...last.taints, ...(spec?.taints ?? [])].map((taint) => [taintId(taint), taint]));
  return {
    labels: divided('labels', labels, last.labels, metadata?.labels ?? {}, policies),
    annotations: divided('annotations', annotations, last.annotations, metadata?.annotations ?? {}, policies),
    /** If another client changed or removed a taint, mcm changes the taint only with the policy `Enforce`. */
    mayChange: (taint: Taint): boolean => !(isFree(taint) && hasDriftedTaint(taint)),
    warnedTaints: [...ours.values()]
      .filter((taint) => policies('taints', taint.key) === 'Warn' && hasDriftedTaint(taint))
      .map(({ key }) => key),
  };
}

/** Returns the fields of the Node with the policy `Warn` that another client changed, such as `labels/team`. */
export function warnedDrift(machine: Machine, machineClass: MachineClass | undefined, node: Node): readonly string[] {
  if (!hasDriftPolicies(machine, machineClass)) return [];
  const last = parseLastApplied(node.metadata.annotations?.[Annotations.LastAppliedNodeTemplate]);
  const { labels, annotations, warnedTaints } = driftOf(machine, machineClass, node, last);
  return [
    ...labels.warned.map((key) => `labels/${key}`),
    ...annotations.warned.map((key) => `annotations/${key}`),
    ...warnedTaints.map((key) => `taints/${key}`),
  ];
}

/** Node labels with properties of the VM, whose values the cloud provider or the kubelet sets. */
const LABELS_OF_OFFERING: readonly string[] = [
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.ebs.csi.aws.com/zone',
  'topology.disk.csi.azure.com/zone',
  'topology.gke.io/zone',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
];

/**
 * The node template contains the zone and the machine type of the first choice of the class. A machine with another
 * offering gets no labels for the zone and the machine type.
 */
function templateOf(machine: Machine): NodeTemplateSpec | undefined {
  const template = machine.spec.nodeTemplate;
  const labels = template?.metadata?.labels;
  if (!labels || !offeringOf(machine)) return template;
  const kept = Object.entries(labels).filter(([key]) => !LABELS_OF_OFFERING.includes(key));
  return { ...template, metadata: { ...template.metadata, labels: Object.fromEntries(kept) } };
}

const classKey = ({ metadata, spec }: Machine): string => makeKey(metadata.namespace, spec.class.name ?? '');

function syncRecord(
  annotations: Readonly<Record<string, string>> | undefined,
  template: NodeTemplateSpec | undefined,
): Changes {
  const wanted = record(template);
  const current = parseJson(annotations?.[Annotations.LastAppliedNodeTemplate]);
  const same = current !== undefined && jsonEquals({ metadata: {}, spec: {}, ...current }, wanted);
  return same ? {} : { [Annotations.LastAppliedNodeTemplate]: JSON.stringify(wanted) };
}

function planCapacity(machineClass: MachineClass | undefined, node: Node): { changes: Changes; record: Changes } {
  if (!machineClass?.nodeTemplate) return { changes: {}, record: {} };
  const wanted = quantityMap(machineClass.nodeTemplate.virtualCapacity);
  const text = node.metadata.annotations?.[Annotations.LastAppliedVirtualCapacity];
  const last = stringMap(parseJson(text));
  const changes = syncCapacity(node.status?.capacity ?? {}, last, wanted);
  if (jsonEquals(last, wanted)) return { changes, record: {} };
  if (!nonEmpty(wanted))
    return { changes, record: text === undefined ? {} : { [Annotations.LastAppliedVirtualCapacity]: null } };
  return { changes, record: { [Annotations.LastAppliedVirtualCapacity]: JSON.stringify(wanted) } };
}
