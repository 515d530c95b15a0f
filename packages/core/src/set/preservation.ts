import { Annotations, Labels, type Machine, PreserveValues } from '@mcm/api';
import { createdAt, isFailed, preserveExpiry } from './machines.ts';
import { compareText } from './text.ts';

/** What the cache says of a machine's node: its annotations, or undefined when there is no such node. */
export type NodeAnnotations = (nodeName: string) => Readonly<Record<string, string>> | undefined;

const KEEPS: ReadonlySet<string> = new Set([
  PreserveValues.Now,
  PreserveValues.WhenFailed,
  PreserveValues.AutoPreserved,
]);
const KNOWN: ReadonlySet<string> = new Set(Object.values(PreserveValues));

/**
 * The preserve value that counts. The node's wins where it is, or was, annotated; a node that is gone says nothing,
 * so the machine's own value counts (the original deletes the machine there: ODD-11 of the sheet).
 */
function effectivePreserveValue(machine: Machine, nodeAnnotations: NodeAnnotations): string {
  const own = machine.metadata.annotations?.[Annotations.Preserve] ?? '';
  const nodeName = machine.metadata.labels?.[Labels.Node];
  const node = nodeName ? nodeAnnotations(nodeName) : {};
  if (node === undefined) return own;
  const onNode = node[Annotations.Preserve] ?? '';
  const lastApplied = machine.metadata.annotations?.[Annotations.LastAppliedNodePreserve] ?? '';
  return onNode === '' && lastApplied === '' ? own : onNode;
}

/** Whether a Failed machine may be deleted now: not preserved any more, and nobody asks for its preservation. */
export function mayDeleteFailed(machine: Machine, nodeAnnotations: NodeAnnotations, now: Date): boolean {
  const expiry = preserveExpiry(machine);
  if (expiry !== undefined) return expiry <= now.getTime();
  return !KEEPS.has(effectivePreserveValue(machine, nodeAnnotations));
}

/** Machines whose `auto-preserved` annotation is to be written or taken off. */
export interface AutoPreservation {
  readonly preserve: readonly Machine[];
  readonly stop: readonly Machine[];
}

const isAutoPreserved = (machine: Machine): boolean =>
  machine.metadata.annotations?.[Annotations.Preserve] === PreserveValues.AutoPreserved;

const oldestFirst = (a: Machine, b: Machine): number =>
  createdAt(a) - createdAt(b) || compareText(a.metadata.name, b.metadata.name);

/**
 * Fills the set's places for automatically preserved machines with Failed ones, the newest first, or frees the oldest
 * when the maximum was lowered. Counted from the machines themselves: the status may lag.
 *
 * @param max `spec.autoPreserveFailedMachineMax`.
 */
export function planAutoPreservation(machines: readonly Machine[], max: number): AutoPreservation {
  const preserved = machines.filter(isAutoPreserved);
  const free = max - preserved.length;
  if (free < 0) return { preserve: [], stop: preserved.toSorted(oldestFirst).slice(0, -free) };
  if (free === 0) return { preserve: [], stop: [] };
  const candidates = machines.filter(
    (machine) =>
      isFailed(machine) &&
      machine.metadata.deletionTimestamp === undefined &&
      !KNOWN.has(machine.metadata.annotations?.[Annotations.Preserve] ?? ''),
  );
  return { preserve: candidates.toSorted(oldestFirst).reverse().slice(0, free), stop: [] };
}
