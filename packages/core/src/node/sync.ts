import {
  Annotations,
  Finalizers,
  Labels,
  type Machine,
  type MachineClass,
  type NodeTemplateSpec,
  quantitiesEqual,
} from '@mcm/api';
import { makeKey, type Node, type Taint } from '@mcm/kube';
import { jsonEquals } from '../values/merge-diff.ts';
import type { NodeChange } from './patch.ts';

/** Changes of one Node: at most one write of its metadata and spec and one of its status. */
export interface NodePatch {
  /** Of metadata and spec. */
  readonly main?: NodeChange;
  /** Changes of the status, for a merge patch: virtual capacity. Sent after `main`, whose answer it must not undo. */
  readonly status?: object;
}

type Changes = Record<string, string | null>;

/**
 * A map's keys that must change: what was applied before and is no longer wanted goes, what is wanted comes; keys
 * that never were ours are not touched. Null removes a key.
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
 * The taints a node should have, or undefined when it has them. A taint is known by key and effect; order is kept,
 * new ones come last. Foreign taints stay.
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

/** Capacity keys that must change in the status; null removes one. Real resources are not touched. */
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

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const stringMap = (value: unknown): Record<string, string> =>
  isMap(value)
    ? Object.fromEntries(
        Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
      )
    : {};

/** What the record says was applied last. A record that cannot be read says nothing, so nothing is removed by it. */
export function parseLastApplied(text: string | undefined): {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly taints: readonly Taint[];
} {
  const parsed = parseJson(text);
  const metadata = isMap(parsed?.metadata) ? parsed.metadata : {};
  const spec = isMap(parsed?.spec) ? parsed.spec : {};
  const taints = Array.isArray(spec.taints) ? spec.taints : [];
  return {
    labels: stringMap(metadata.labels),
    annotations: stringMap(metadata.annotations),
    taints: taints.filter(
      (taint): taint is Taint => isMap(taint) && typeof taint.key === 'string' && typeof taint.effect === 'string',
    ),
  };
}

function parseJson(text: string | undefined): Record<string, unknown> | undefined {
  if (!text) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isMap(value) ? value : undefined;
  } catch {
    return undefined; // someone edited the record by hand: as if there were none, and it is written anew
  }
}

/** The record as it is written: the whole template, metadata and spec always there, as the original's encoder has it. */
const record = (template: NodeTemplateSpec | undefined): object => ({
  metadata: template?.metadata ?? {},
  spec: template?.spec ?? {},
});

const quantityMap = (map: Readonly<Record<string, string | number>> | undefined): Record<string, string> =>
  Object.fromEntries(Object.entries(map ?? {}).map(([key, value]) => [key, String(value)]));

const nonEmpty = (map: object): boolean => Object.keys(map).length > 0;

/**
 * What must change on a machine's Node: the template's labels, annotations and taints with the record of what was
 * applied, the way back to the machine, our finalizer, virtual capacity. Undefined when nothing must.
 */
export function planNodeSync(
  machine: Machine,
  machineClass: MachineClass | undefined,
  node: Node,
): NodePatch | undefined {
  const { metadata } = node;
  const template = machine.spec.nodeTemplate;
  const last = parseLastApplied(metadata.annotations?.[Annotations.LastAppliedNodeTemplate]);
  const labels = syncMap(metadata.labels ?? {}, last.labels, {
    ...template?.metadata?.labels,
    [Labels.MachineName]: machine.metadata.name,
  });
  const taints = syncTaints(node.spec.taints ?? [], last.taints, template?.spec?.taints ?? []);
  const capacity = planCapacity(machineClass, node);
  const annotations = {
    ...syncMap(metadata.annotations ?? {}, last.annotations, template?.metadata?.annotations ?? {}),
    ...syncRecord(metadata.annotations, template),
    ...capacity.record,
    // Never a write of its own: Nodes that joined under the original stay as they are.
    ...(Object.hasOwn(labels, Labels.MachineName) ? { [Annotations.MachineClassOfNode]: classKey(machine) } : {}),
  };
  const finalizers = metadata.finalizers ?? [];
  const missesFinalizer =
    !finalizers.includes(Finalizers.Node) && !metadata.deletionTimestamp && !machine.metadata.deletionTimestamp;

  const newMetadata = {
    ...(nonEmpty(labels) ? { labels } : {}),
    ...(nonEmpty(annotations) ? { annotations } : {}),
    ...(missesFinalizer ? { finalizers: [...finalizers, Finalizers.Node].sort() } : {}),
  };
  const main = {
    ...(nonEmpty(newMetadata) ? { metadata: newMetadata } : {}),
    ...(taints ? { spec: { taints } } : {}),
  };
  const patch: NodePatch = {
    ...(nonEmpty(main) ? { main } : {}),
    ...(nonEmpty(capacity.changes) ? { status: { capacity: capacity.changes } } : {}),
  };
  return nonEmpty(patch) ? patch : undefined;
}

const classKey = ({ metadata, spec }: Machine): string => makeKey(metadata.namespace, spec.class.name ?? '');

/** The record is compared by meaning, not by text: the original prints its keys in another order. */
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
